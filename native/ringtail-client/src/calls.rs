//! Requests about objects.

use std::io;
use std::time::Duration;

use ringtail_core::keys::percent_encode;

use crate::client::Client;
use crate::content::{Content, Source};
use crate::error::{AnswerFault, BadAnswer, Error, ExecutionError, RequestError};
use crate::execute::{Answer, Call, Executor, PrimaryOf};
use crate::object::{
    ContentReader, Deleted, Fetched, Metadata, Object, ObjectName, Siblings, Stored, Vclock,
    object_of, siblings_of, write_metadata,
};
use crate::options::{ReadOptions, WriteOptions};
use crate::paths::Base;
use crate::retry::Kind;
use crate::said::said;

impl Client {
    /// Reads an object into memory.
    ///
    /// # Errors
    /// As every request: no answer in time ([`ExecutionError::Timeout`],
    /// [`ExecutionError::Unavailable`]), refused by Riak ([`ExecutionError::Refused`]), or no such
    /// bucket type. Also an object larger than
    /// [`Config::object_limit`](crate::Config::object_limit).
    pub fn get(&self, name: &ObjectName, options: &ReadOptions) -> Result<Fetched, Error> {
        let limit = self.shared.config.object_limit;
        self.get_streamed(name, options)?.try_map(|mut content| {
            content.read_all(limit).map_err(|cause| match cause.kind() {
                io::ErrorKind::FileTooLarge => RequestError::TooLarge(cause).into(),
                _ => Error::local("the object broke off")(cause),
            })
        })
    }

    /// Reads an object as it comes. Siblings are read into memory all the same.
    ///
    /// ```
    /// # use ringtail_client::{Client, Config, Content, Fetched, Metadata, ObjectName};
    /// # let cluster = ringtail_testcluster::Cluster::start(3);
    /// # let client = Client::connect(Config::new([cluster.url(0)])?)?;
    /// # let name = ObjectName::new("files", "large");
    /// # let metadata = Metadata::of_type("application/octet-stream");
    /// # client.put(&name, &metadata, Content::Bytes(&[7; 300_000]), &Default::default())?;
    /// if let Fetched::Object(mut object) = client.get_streamed(&name, &Default::default())? {
    ///     let mut file = std::io::sink();
    ///     let bytes = std::io::copy(&mut object.content, &mut file)?;
    ///     assert_eq!(bytes, 300_000);
    /// }
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn get_streamed(
        &self,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Fetched<ContentReader>, Error> {
        let answer = self.read("GET", name, options)?;
        self.fetched(answer, |answer| ContentReader::new(answer.body))
    }

    /// Reads everything but the content of an object: that is its length, where the node says it.
    ///
    /// # Errors
    /// As [`get`](Self::get).
    pub fn head(
        &self,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Fetched<Option<u64>>, Error> {
        let answer = self.read("HEAD", name, options)?;
        let length = answer.head.content_length().ok().flatten();
        self.fetched(answer, |_| length)
    }

    fn read(
        &self,
        method: &'static str,
        name: &ObjectName,
        options: &ReadOptions,
    ) -> Result<Answer, Error> {
        let call =
            object_call(method, Kind::Read, name, &options.query().text(), options.fields()?)?;
        self.execute(name, &call, &mut Source::None, options.timeout)
    }

    fn fetched<C>(
        &self,
        mut answer: Answer,
        content: impl Fn(Answer) -> C,
    ) -> Result<Fetched<C>, Error> {
        match answer.head.status {
            200 => {
                let headers = std::mem::take(&mut answer.head.headers);
                Ok(Fetched::Object(object_of(&headers, content(answer))))
            }
            300 => Ok(Fetched::Siblings(self.siblings(&mut answer)?)),
            304 => Ok(Fetched::NotModified),
            404 => {
                let vclock =
                    answer.head.headers.text("X-Riak-Vclock").map(|text| Vclock(text.to_owned()));
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Ok(Fetched::NotFound { deleted: vclock })
            }
            _ => Err(answer.refusal()),
        }
    }

    fn siblings(&self, answer: &mut Answer) -> Result<Siblings, Error> {
        let body = answer
            .body
            .read_all(self.shared.config.object_limit)
            .map_err(Error::local("the siblings broke off"))?;
        siblings_of(&answer.head.headers, &body).map_err(|what| {
            let (address, fault) = (answer.node.clone(), AnswerFault::Siblings(what));
            ExecutionError::BadAnswer(BadAnswer { address, fault }).into()
        })
    }

    /// Stores an object.
    ///
    /// A write whose connection fails half-way is not sent again:
    /// [`ExecutionError::UnknownOutcome`].
    ///
    /// # Errors
    /// As [`get`](Self::get); also metadata that HTTP cannot carry ([`RequestError::Invalid`]:
    /// nothing was sent).
    pub fn put(
        &self,
        name: &ObjectName,
        metadata: &Metadata,
        content: Content<'_>,
        options: &WriteOptions,
    ) -> Result<Stored, Error> {
        let mut fields = options.fields()?;
        write_metadata(metadata, &mut fields)?;
        let call = object_call("PUT", Kind::Write, name, &options.query().text(), fields)?;
        let mut source = Source::new(content)?;
        let mut answer = self.execute(name, &call, &mut source, options.timeout)?;
        match answer.head.status {
            200 | 201 => {
                let body = answer
                    .body
                    .read_all(self.shared.config.object_limit)
                    .map_err(Error::local("it was stored, but what was stored broke off"))?;
                let object: Object = object_of(&answer.head.headers, body);
                Ok(if options.return_body {
                    Stored::Object(Box::new(object))
                } else {
                    Stored::Done
                })
            }
            204 => Ok(Stored::Done),
            300 => Ok(Stored::Siblings(self.siblings(&mut answer)?)),
            412 => {
                answer.message();
                Ok(Stored::PreconditionFailed)
            }
            404 => {
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Err(answer.refusal_saying(&text))
            }
            _ => Err(answer.refusal()),
        }
    }

    /// Deletes an object.
    ///
    /// # Errors
    /// As [`put`](Self::put).
    pub fn delete(&self, name: &ObjectName, options: &WriteOptions) -> Result<Deleted, Error> {
        let call =
            object_call("DELETE", Kind::Write, name, &options.query().text(), options.fields()?)?;
        let mut answer = self.execute(name, &call, &mut Source::None, options.timeout)?;
        match answer.head.status {
            200 | 204 => {
                answer.message();
                Ok(Deleted::Done)
            }
            404 => {
                let text = answer.message();
                not_found_error(&answer, &text)?;
                Ok(Deleted::NotFound)
            }
            412 => {
                answer.message();
                Ok(Deleted::PreconditionFailed)
            }
            _ => Err(answer.refusal()),
        }
    }

    fn execute(
        &self,
        name: &ObjectName,
        call: &Call,
        source: &mut Source<'_>,
        time: Option<Duration>,
    ) -> Result<Answer, Error> {
        let time = time.unwrap_or(self.shared.config.timeout);
        Executor::new(&self.shared, &PrimaryOf(name), call, time).run(source)
    }
}

fn object_call(
    method: &'static str,
    kind: Kind,
    name: &ObjectName,
    query: &str,
    fields: Vec<(String, Vec<u8>)>,
) -> Result<Call, Error> {
    name.check()?;
    let path = object_path(name, query);
    Ok(Call { method, kind, base: Base::Object, path, fields, patience: None })
}

pub(crate) fn object_path(name: &ObjectName, query: &str) -> String {
    format!(
        "/types/{}/buckets/{}/keys/{}{query}",
        percent_encode(name.bucket_type()),
        percent_encode(name.bucket()),
        percent_encode(name.key())
    )
}

/// A 404 that is not about the object.
fn not_found_error(answer: &Answer, text: &[u8]) -> Result<(), Error> {
    if let Some(bucket_type) = text.strip_prefix(b"Unknown bucket type: ") {
        let name = String::from_utf8_lossy(bucket_type.trim_ascii()).into_owned();
        return Err(ExecutionError::NoBucketType(name).into());
    }
    match said(text) {
        (Some(_), _) => Err(answer.refusal_saying(text)),
        (None, _) => Ok(()),
    }
}
