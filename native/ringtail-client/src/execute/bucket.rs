//! The properties of buckets, which every request about an object needs.

use std::time::{Duration, Instant};

use ringtail_core::keys::percent_encode;

use super::call::Call;
use super::executor::Executor;
use super::goal::AnyNode;
use crate::content::Source;
use crate::error::{AnswerFault, BadAnswer, Error, ExecutionError, PropertiesFault};
use crate::http::Deadline;
use crate::paths::Base;
use crate::properties::BucketProperties;
use crate::shared::Shared;
use crate::stats::count;

/// The largest document of bucket properties taken.
const LIMIT: u64 = 1024 * 1024;

/// The properties of a bucket, known or asked for.
pub(crate) fn properties_of(
    shared: &Shared,
    bucket_type: &[u8],
    bucket: &[u8],
    deadline: Deadline,
    patience: Option<Duration>,
) -> Result<BucketProperties, Error> {
    if let Some(properties) = shared.properties.get(bucket_type, bucket, Instant::now()) {
        return Ok(properties);
    }
    let call = Call::get(Base::Riak, path(bucket_type, bucket), patience);
    let time = deadline.left().unwrap_or_default();
    let mut answer = Executor::new(shared, &AnyNode, &call, time).run(&mut Source::None)?;
    match answer.head.status {
        200 => {
            count(&shared.counters.properties_fetched);
            let text = answer.body.read_all(LIMIT).map_err(PropertiesFault::BrokenOff);
            let properties =
                text.and_then(|text| BucketProperties::parse(&text)).map_err(|fault| {
                    let fault = AnswerFault::Properties(fault);
                    ExecutionError::BadAnswer(BadAnswer { address: answer.node, fault })
                })?;
            shared.properties.put(bucket_type, bucket, &properties, Instant::now());
            Ok(properties)
        }
        404 => {
            let name = String::from_utf8_lossy(bucket_type).into_owned();
            Err(ExecutionError::NoBucketType(name).into())
        }
        _ => Err(answer.refusal()),
    }
}

fn path(bucket_type: &[u8], bucket: &[u8]) -> String {
    let bucket = percent_encode(bucket);
    if bucket_type == ringtail_core::keys::DEFAULT_TYPE {
        format!("/buckets/{bucket}/props")
    } else {
        format!("/types/{}/buckets/{bucket}/props", percent_encode(bucket_type))
    }
}
