//! How many objects a second can be fetched, for the benchmark of the standalone mode: `gets client
//! SEED SECONDS THREADS BUCKET_TYPE BUCKET KEYS` fetches them with this library, straight from the
//! primaries; `gets http URL SECONDS THREADS KEYS` over plain kept-alive connections, the key
//! appended to the URL's path. Keys are the numbers below KEYS. Prints objects and bytes a second.

use std::error::Error;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use ringtail_client::{Client, Config, Fetched, ObjectName};

type Failure = Box<dyn Error + Send + Sync>;
/// Fetches the object of that number and says how many bytes it has.
type Get<'a> = Box<dyn FnMut(u64) -> Result<u64, Failure> + 'a>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match arguments[..] {
        ["client", seed, seconds, threads, bucket_type, bucket, keys] => {
            let client = Client::connect(Config::new([seed])?)?;
            measure(seconds.parse()?, threads.parse()?, keys.parse()?, || {
                let client = client.clone();
                Ok(Box::new(move |key| {
                    let name = ObjectName::new(bucket, key.to_string()).of_type(bucket_type);
                    match client.get(&name, &Default::default())? {
                        Fetched::Object(object) => Ok(object.content.len() as u64),
                        other => Err(format!("{key}: {other:?}").into()),
                    }
                }))
            })
        }
        ["http", url, seconds, threads, keys] => {
            let rest = url.strip_prefix("http://").ok_or("the URL must begin with http://")?;
            let (host, path) = rest.split_once('/').ok_or("the URL has no path")?;
            measure(seconds.parse()?, threads.parse()?, keys.parse()?, || {
                let connection = TcpStream::connect(host)?;
                connection.set_nodelay(true)?;
                let mut connection = BufReader::new(connection);
                Ok(Box::new(move |key| get(&mut connection, host, &format!("/{path}{key}"))))
            })
        }
        _ => Err("usage: gets client SEED SECONDS THREADS BUCKET_TYPE BUCKET KEYS\n\
             usage: gets http URL SECONDS THREADS KEYS"
            .into()),
    }
}

fn measure<'a>(
    seconds: f64,
    threads: u64,
    keys: u64,
    connect: impl Fn() -> Result<Get<'a>, Failure> + Sync,
) -> Result<(), Failure> {
    let (objects, bytes) = (AtomicU64::new(0), AtomicU64::new(0));
    let start = Instant::now();
    let until = start + Duration::from_secs_f64(seconds);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|first| {
                let (objects, bytes, connect) = (&objects, &bytes, &connect);
                scope.spawn(move || -> Result<(), Failure> {
                    let mut get = connect()?;
                    let mut key = first;
                    while Instant::now() < until {
                        bytes.fetch_add(get(key % keys)?, Ordering::Relaxed);
                        objects.fetch_add(1, Ordering::Relaxed);
                        key += 1;
                    }
                    Ok(())
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("no panic"))
    })?;
    let took = start.elapsed().as_secs_f64();
    println!("{:.1} {:.0}", objects.into_inner() as f64 / took, bytes.into_inner() as f64 / took);
    Ok(())
}

fn get(connection: &mut BufReader<TcpStream>, host: &str, path: &str) -> Result<u64, Failure> {
    let head = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n");
    connection.get_mut().write_all(head.as_bytes())?;
    let mut length = None;
    let mut line = String::new();
    connection.read_line(&mut line)?;
    if !line.starts_with("HTTP/1.1 200") {
        return Err(format!("{path}: {line}").into());
    }
    loop {
        line.clear();
        connection.read_line(&mut line)?;
        match line.trim_end().split_once(": ") {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = Some(value.parse()?)
            }
            Some(_) => {}
            None => break,
        }
    }
    let mut content = vec![0; length.ok_or("no Content-Length")?];
    connection.read_exact(&mut content)?;
    Ok(content.len() as u64)
}
