//! Work in several threads, outside the interpreter's lock.

use std::any::Any;
use std::iter::from_fn;
use std::panic::{catch_unwind, resume_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use pyo3::exceptions::PyRuntimeError;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// What `work` gives for each part, in order. Threads live no longer than the call, so that a process may be forked at any time.
pub fn in_threads<T: Send>(parts: usize, threads: usize, work: impl Fn(usize) -> T + Sync) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take_parts = || {
        let mine = from_fn(|| Some(next.fetch_add(1, Ordering::Relaxed))).take_while(|&part| part < parts);
        mine.map(|part| (part, work(part))).collect::<Vec<_>>()
    };
    let mut done: Vec<(usize, T)> = thread::scope(|scope| {
        let others: Vec<_> = (1..threads.min(parts)).map(|_| scope.spawn(take_parts)).collect();
        let mut done = take_parts();
        for other in others {
            done.extend(other.join().unwrap_or_else(|panic| resume_unwind(panic)));
        }
        done
    });
    done.sort_unstable_by_key(|(part, _)| *part);
    done.into_iter().map(|(_, result)| result).collect()
}

/// The parts of `count` elements, `size` at a time.
pub fn ranges(count: usize, size: usize) -> impl Fn(usize) -> std::ops::Range<usize> + Sync {
    move |part| part * size..count.min((part + 1) * size)
}

/// What `work` gives, done without the interpreter's lock.
///
/// A panic, which arrays that do not fit together cause, is raised as `es_dedup.errors.DamagedData`.
pub fn without_lock<T: Ungil + Send>(py: Python<'_>, work: impl FnOnce() -> T + Ungil + Send) -> PyResult<T> {
    py.detach(|| catch_unwind(AssertUnwindSafe(work))).map_err(|panic| panicked(py, &*panic))
}

fn panicked(py: Python<'_>, panic: &(dyn Any + Send)) -> PyErr {
    let reason = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("unknown");
    let error =
        py.import("es_dedup.errors").and_then(|errors| errors.getattr("DamagedData")?.call1(("features", reason)));
    error.map_or_else(|_| PyRuntimeError::new_err(reason.to_owned()), PyErr::from_value)
}
