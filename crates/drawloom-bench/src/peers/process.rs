//! Running a process under a time limit, with bounded output.
//!
//! The output is collected by threads of its own, so that a process that fills one pipe while we read the other cannot
//! hold us up. A process that is late is killed and waited for: none outlives the measurement.

use std::fmt;
use std::io::{self, Read};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

/// So much of each stream is kept. A process that says more finds its pipe closed.
const OUTPUT_LIMIT: u64 = 1 << 20;

/// Between two looks at a process that closed its output and has not ended yet.
const PAUSE: Duration = Duration::from_millis(2);

/// Why a process gave no result.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no such program.
    Missing,
    /// The program could not be started or watched.
    Unusable(io::Error),
    /// The process was still running when its time was up, and was killed.
    Late(Duration),
    /// The process ended badly. The text is what it wrote to standard error.
    Failed(ExitStatus, String),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Missing => f.write_str("not found"),
            Failure::Unusable(error) => write!(f, "{error}"),
            Failure::Late(limit) => write!(f, "killed after {} s without an end", limit.as_secs_f64()),
            Failure::Failed(status, text) => match telling_line(text) {
                Some(line) => write!(f, "{line}"),
                None => write!(f, "{status}"),
            },
        }
    }
}

/// The line of an error output that says most: the first that calls itself an error, else the first at all.
fn telling_line(text: &str) -> Option<&str> {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.clone().find(|line| line.contains("error")).or_else(|| lines.next())
}

/// Runs a process and returns what it wrote to standard output.
pub(super) fn output(command: &mut Command, limit: Duration) -> Result<String, Failure> {
    let deadline = Instant::now() + limit;
    let spawned = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let mut child = spawned.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::Missing,
        _ => Failure::Unusable(error),
    })?;
    let result = collect(&mut child, deadline, limit);
    if result.is_err() {
        // Both may fail because the process has ended meanwhile, which is what they are for.
        let _ = child.kill();
        let _ = child.wait();
    }
    let (status, said, complained) = result?;
    if status.success() { Ok(said) } else { Err(Failure::Failed(status, complained)) }
}

fn collect(child: &mut Child, deadline: Instant, limit: Duration) -> Result<(ExitStatus, String, String), Failure> {
    let (said, complained) = (listen(child.stdout.take()), listen(child.stderr.take()));
    let said = hear(&said, deadline, limit)?;
    let complained = hear(&complained, deadline, limit)?;
    loop {
        if let Some(status) = child.try_wait().map_err(Failure::Unusable)? {
            return Ok((status, said, complained));
        }
        if Instant::now() >= deadline {
            return Err(Failure::Late(limit));
        }
        thread::sleep(PAUSE);
    }
}

/// Reads a stream to its end on a thread of its own. The thread ends when the last holder of the stream does.
fn listen(stream: Option<impl Read + Send + 'static>) -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        let read = stream.map_or(Ok(0), |stream| stream.take(OUTPUT_LIMIT).read_to_end(&mut bytes));
        // Nobody listens any more when the process was late.
        let _ = sender.send(read.map(|_| bytes));
    });
    receiver
}

fn hear(stream: &Receiver<io::Result<Vec<u8>>>, deadline: Instant, limit: Duration) -> Result<String, Failure> {
    match stream.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(Ok(bytes)) => Ok(String::from_utf8_lossy(&bytes).into_owned()),
        Ok(Err(error)) => Err(Failure::Unusable(error)),
        Err(RecvTimeoutError::Timeout) => Err(Failure::Late(limit)),
        Err(RecvTimeoutError::Disconnected) => {
            Err(Failure::Unusable(io::Error::other("the thread that reads its output ended early")))
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use super::{Failure, OUTPUT_LIMIT, output};

    const LONG: Duration = Duration::from_secs(60);

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn what_a_process_prints_is_returned() {
        assert_eq!(output(&mut shell("echo one; echo two"), LONG).unwrap(), "one\ntwo\n");
    }

    #[test]
    fn a_process_that_does_not_end_is_killed() {
        let failure = output(&mut shell("exec sleep 1000"), Duration::from_millis(20)).unwrap_err();
        assert_eq!(failure.to_string(), "killed after 0.02 s without an end");
    }

    #[test]
    fn a_process_that_closes_its_output_and_does_not_end_is_killed_too() {
        let failure = output(&mut shell("exec sleep 1000 >&- 2>&-"), Duration::from_millis(20)).unwrap_err();
        assert!(matches!(failure, Failure::Late(_)), "{failure:?}");
    }

    #[test]
    fn a_failure_says_the_line_that_matters() {
        let script = "echo 'in file x.c:' >&2; echo 'x.c:1: error: no such thing' >&2; exit 3";
        let failure = output(&mut shell(script), LONG).unwrap_err();
        assert_eq!(failure.to_string(), "x.c:1: error: no such thing");
        let silent = output(&mut shell("exit 3"), LONG).unwrap_err();
        assert_eq!(silent.to_string(), "exit status: 3");
    }

    #[test]
    fn a_program_that_is_not_there_is_missing() {
        let failure = output(&mut Command::new("drawloom-no-such-program"), LONG).unwrap_err();
        assert!(matches!(failure, Failure::Missing), "{failure:?}");
    }

    #[test]
    fn endless_output_is_cut_and_ends_the_process() {
        let failure = output(&mut shell("exec yes"), LONG).unwrap_err();
        assert!(matches!(failure, Failure::Failed(..)), "yes ends when its pipe closes after {OUTPUT_LIMIT} bytes");
    }
}
