//! The program `sommelier-fake-server`.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use lexopt::{Arg, Parser, ValueExt};
use sommelier_fake_server::{FakeServer, Faults, Script, Settings};
use sommelier_protocol::sight::printable;

const HELP: &str = "\
A strict fake of Anthropic's Messages API, on 127.0.0.1.

Usage: sommelier-fake-server --port N [--script FILE] [--faults FILE]
                             [--model NAME]... [--key KEY]... [--strict]

  --port N        where to listen; 0 takes a free port, which is printed
  --script FILE   what to say; without it a short text
  --faults FILE   what goes wrong, and at which request
  --model NAME    a model that there is; without it every name is one
  --key KEY       a key that is taken; without it every key is
  --strict        refuse as well what the service lets pass

GET /_log tells what was asked.
";

type Error = Box<dyn std::error::Error>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "sommelier-fake-server: {error}");
            ExitCode::from(2)
        }
    }
}

fn run() -> Result<(), Error> {
    let Some((port, settings)) = arguments()? else {
        io::stdout().write_all(HELP.as_bytes())?;
        return Ok(());
    };
    let server = FakeServer::start(port, settings)
        .map_err(|error| format!("cannot listen on port {port}: {error}"))?;
    let mut out = io::stdout().lock();
    writeln!(out, "listening on {}", server.url())?;
    out.flush()?;
    drop(out);
    server.wait();
    Ok(())
}

/// The port and what else was said; none when help was asked for.
fn arguments() -> Result<Option<(u16, Settings)>, Error> {
    let mut parser = Parser::from_env();
    let (mut port, mut settings) = (None, Settings::default());
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("port") => port = Some(parser.value()?.parse()?),
            Arg::Long("script") => settings.script = file(&mut parser, |text| Ok(Script::read(text)?))?,
            Arg::Long("faults") => settings.faults = file(&mut parser, |text| Ok(Faults::read(text)?))?,
            Arg::Long("model") => settings.models.push(parser.value()?.string()?),
            Arg::Long("key") => settings.keys.push(parser.value()?.string()?),
            Arg::Long("strict") => settings.strict = true,
            Arg::Long("help") | Arg::Short('h') => return Ok(None),
            other => return Err(other.unexpected().into()),
        }
    }
    let port = port.ok_or("--port is missing; 0 takes a free one")?;
    Ok(Some((port, settings)))
}

fn file<T>(parser: &mut Parser, read: impl Fn(&str) -> Result<T, Error>) -> Result<T, Error> {
    let path = parser.value()?;
    let told = |error: Error| format!("{}: {error}", printable(&path.to_string_lossy()));
    let text = text_of(path.as_ref()).map_err(told)?;
    Ok(read(&text).map_err(told)?)
}

/// The most bytes of a file: one without an end must not become a process without memory.
const LARGEST: u64 = 64 << 20;

fn text_of(path: &Path) -> Result<String, Error> {
    let mut text = String::new();
    let length = File::open(path)?.take(LARGEST + 1).read_to_string(&mut text)?;
    match u64::try_from(length) {
        Ok(..=LARGEST) => Ok(text),
        _ => Err(format!("it is larger than {LARGEST} bytes, the most that is read").into()),
    }
}
