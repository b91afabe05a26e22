//! What crosses the C boundary: borrowed bytes in, owned buffers out, panics turned into errors.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::Once;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct FolioBytes {
    data: *const u8,
    size: usize,
}

impl FolioBytes {
    pub fn is_absent(self) -> bool {
        self.data.is_null()
    }

    /// # Safety
    /// `data` points to `size` readable bytes for the length of the call (or `size` is 0).
    pub unsafe fn bytes<'a>(self) -> &'a [u8] {
        if self.size == 0 {
            &[]
        } else {
            std::slice::from_raw_parts(self.data, self.size)
        }
    }

    /// # Safety
    /// As for `bytes`.
    pub unsafe fn text<'a>(self) -> Result<&'a str, String> {
        std::str::from_utf8(self.bytes())
            .map_err(|e| format!("not UTF-8 at byte {}", e.valid_up_to()))
    }
}

/// # Safety
/// `data` points to `count` elements, or `count` is 0.
pub unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if count == 0 {
        &[]
    } else {
        std::slice::from_raw_parts(data, count)
    }
}

#[repr(C)]
pub struct FolioVec<T> {
    data: *mut T,
    size: usize,
    capacity: usize,
}

pub type FolioBuffer = FolioVec<u8>;
pub type FolioIds = FolioVec<u32>;

impl<T> FolioVec<T> {
    pub fn fill(&mut self, content: Vec<T>) {
        self.clear();
        let mut content = std::mem::ManuallyDrop::new(content);
        self.data = content.as_mut_ptr();
        self.size = content.len();
        self.capacity = content.capacity();
    }

    pub fn clear(&mut self) {
        if !self.data.is_null() {
            // SAFETY: the three fields came from a Vec<T> in `fill`.
            drop(unsafe { Vec::from_raw_parts(self.data, self.size, self.capacity) });
            self.data = std::ptr::null_mut();
            self.size = 0;
            self.capacity = 0;
        }
    }
}

/// # Safety
/// `target` is null or points to a valid, initialised buffer.
pub unsafe fn fill<T>(target: *mut FolioVec<T>, content: Vec<T>) {
    if let Some(target) = target.as_mut() {
        target.fill(content);
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_buffer_free(buffer: *mut FolioBuffer) {
    if let Some(buffer) = buffer.as_mut() {
        buffer.clear();
    }
}

#[no_mangle]
pub unsafe extern "C" fn folio_ids_free(ids: *mut FolioIds) {
    if let Some(ids) = ids.as_mut() {
        ids.clear();
    }
}

/// Runs `body`; a panic becomes an error text. The default hook would print to stderr, and a
/// library doesn't print.
pub fn guarded<T>(body: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    static SILENCE: Once = Once::new();
    SILENCE.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    catch_unwind(AssertUnwindSafe(body)).unwrap_or_else(|payload| Err(panic_text(&*payload)))
}

pub fn panic_text(payload: &(dyn std::any::Any + Send)) -> String {
    let text = payload
        .downcast_ref::<&str>()
        .map(|s| s.to_string())
        .or_else(|| payload.downcast_ref::<String>().cloned());
    format!("panic: {}", text.unwrap_or_else(|| "unknown".into()))
}
