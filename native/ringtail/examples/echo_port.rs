//! Sends every frame back as it came: what a round trip through any port costs. For the benchmark
//! of the port.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::AsFd;

fn main() -> io::Result<()> {
    let mut stdin = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let mut buffer = vec![0; 64 * 1024];
    loop {
        match stdin.read(&mut buffer)? {
            0 => return Ok(()),
            // Frames that came in pieces go back in pieces.
            count => stdout.write_all(&buffer[..count])?,
        }
    }
}
