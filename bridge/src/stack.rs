//! Work on a stack of its own: crates that go down their input recurse deeper than a caller's stack
//! may be, and an overflow can't be caught.

use crate::ffi::panic_text;

/// Runs `body` on a thread with a stack of `bytes`, of which the system gives what is touched. The
/// error is a panic's text, or that there was no thread.
pub fn on_stack<T: Send>(bytes: usize, body: impl FnOnce() -> T + Send) -> Result<T, String> {
    std::thread::scope(|scope| {
        std::thread::Builder::new()
            .stack_size(bytes)
            .spawn_scoped(scope, body)
            .map_err(|e| format!("no thread to work on: {e}"))?
            .join()
            .map_err(|payload| panic_text(&*payload))
    })
}
