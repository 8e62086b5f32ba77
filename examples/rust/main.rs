//! The library of ../c in a Rust program: the same object and the same runtime, without a crate. What the C header declares is declared
//! here by hand.

use std::ffi::{c_char, c_int, c_void, CStr};
use std::process::ExitCode;

/// The runtime's description of a trap, as in waot_runtime.h. The fields behind the message are not used here.
#[repr(C)]
struct Trap {
    code: c_int,
    status: i32,
    text: *const c_char,
    message: [c_char; 256],
    rest: [u64; 1024],
}

#[repr(C)]
struct Object {
    _private: [u8; 0],
}

extern "C" {
    #[link_name = "squash.object"]
    static SQUASH: Object;
    /// The word that holds the base of the memory.
    #[link_name = "squash..memory.memory"]
    static MEMORY: *mut u8;

    #[link_name = "squash..reset"]
    fn reset();
    #[link_name = "squash..allocate"]
    fn allocate(size: u32) -> u32;
    #[link_name = "squash..bound"]
    fn bound(size: u32) -> u32;
    #[link_name = "squash..compress"]
    fn compress(to: u32, from: u32, size: u32) -> u32;
    #[link_name = "squash..expand"]
    fn expand(to: u32, room: u32, from: u32, size: u32) -> u32;

    fn waot_instance_of(object: *const Object) -> *mut c_void;
    fn waot_instance_init(
        instance: *mut c_void,
        imports: *const *mut c_void,
        initialize: Option<unsafe extern "C" fn()>,
        trap: *mut Trap,
    ) -> c_int;
    fn waot_try(trap: *mut Trap, f: unsafe extern "C" fn(*mut c_void), arg: *mut c_void) -> c_int;
}

impl Trap {
    fn new() -> Box<Trap> {
        // SAFETY: all its fields may be zero.
        unsafe { Box::new(std::mem::zeroed()) }
    }

    fn message(&self) -> String {
        // SAFETY: the runtime ends the message with a zero.
        unsafe { CStr::from_ptr(self.message.as_ptr()) }.to_string_lossy().into_owned()
    }
}

/// Calls a closure, and makes an error of a trap in it. A trap does not drop what the closure owns, so it should own nothing.
fn catch<F: FnMut()>(mut f: F) -> Result<(), String> {
    unsafe extern "C" fn call<F: FnMut()>(f: *mut c_void) {
        // SAFETY: catch passes its closure.
        unsafe { (*(f as *mut F))() }
    }
    let mut trap = Trap::new();
    // SAFETY: the closure lives until waot_try returns.
    match unsafe { waot_try(&mut *trap, call::<F>, &mut f as *mut F as *mut c_void) } {
        0 => Ok(()),
        _ => Err(trap.message()),
    }
}

/// The library, which one thread at a time may use.
struct Squash;

impl Squash {
    fn new() -> Result<Squash, String> {
        let mut trap = Trap::new();
        // SAFETY: the module imports nothing and has no _initialize.
        match unsafe { waot_instance_init(waot_instance_of(&SQUASH), std::ptr::null(), None, &mut *trap) } {
            0 => Ok(Squash),
            _ => Err(trap.message()),
        }
    }

    /// Compresses data, expands it again, and returns the number of compressed bytes and whether the data came back.
    fn round_trip(&mut self, data: &[u8], damage: bool) -> Result<(usize, bool), String> {
        let size = u32::try_from(data.len()).map_err(|e| e.to_string())?;
        let (mut packed, mut same, mut room) = (0, false, true);
        catch(|| {
            // SAFETY: the addresses are those of memory that the library has allocated.
            unsafe {
                reset();
                let (from, at, back) = (allocate(size), allocate(bound(size)), allocate(size));
                room = from != 0 && at != 0 && back != 0;
                if !room {
                    return;
                }
                std::ptr::copy_nonoverlapping(data.as_ptr(), MEMORY.add(from as usize), data.len());
                packed = compress(at, from, size);
                if damage {
                    std::ptr::write_bytes(MEMORY.add(at as usize), 0xff, packed as usize);
                }
                let n = expand(back, size, at, packed);
                same = std::slice::from_raw_parts(MEMORY.add(back as usize), n as usize) == data;
            }
        })?;
        if !room {
            return Err("out of the library's memory".into());
        }
        Ok((packed as usize, same))
    }
}

fn run(file: &str, damage: bool) -> Result<(), String> {
    let data = std::fs::read(file).map_err(|e| format!("{file}: {e}"))?;
    let (packed, same) = Squash::new()?.round_trip(&data, damage)?;
    if !same {
        return Err("the data does not come back".into());
    }
    println!("{file}: {} bytes, {packed} compressed", data.len());
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().collect();
    if args.len() < 2 || args.len() > 3 || args.len() == 3 && args[2] != "--damage" {
        eprintln!("usage: {} FILE [--damage]", args[0]);
        return ExitCode::from(2);
    }
    match run(&args[1], args.len() == 3) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("{e}");
            ExitCode::FAILURE
        }
    }
}
