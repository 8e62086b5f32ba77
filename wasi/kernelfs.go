//go:build linux

package wasi

import "syscall"

// This file decides what no path may lead to: the kernel's own files, which are
// an interface to processes and to the machine and not storage, and devices.

// ErrKernelFiles is the error of a preopen that lies on a file system by which the
// kernel shows itself, such as procfs.
const ErrKernelFiles = Error("the directory has files of the kernel, not stored ones")

const procfsMagic = 0x9fa0

// kernelFileSystems are the types of such file systems, as statfs(2) numbers them.
// Who can open a file on one gets more than files: the memory of processes, the
// settings of the machine. What has device files only, as devtmpfs and devpts, is not
// among them: see openable.
var kernelFileSystems = [...]uint32{
	procfsMagic, // memory, environment, descriptors of processes; settings
	0x62656572,  // sysfs: devices, drivers, settings
	0x64626720,  // debugfs: whatever a driver shows
	0x74726163,  // tracefs: what all processes do
	0x0027e0eb,  // cgroup: limits and members of groups of processes
	0x63677270,  // cgroup2
	0x07655821,  // resctrl: shares of caches and memory
	0xcafe4a11,  // bpf: programs and maps of the kernel
	0x73636673,  // securityfs: rules of security modules
	0xf97cff8c,  // selinuxfs
	0x43415d53,  // smackfs
	0x5a3c69f0,  // apparmorfs
	0x62656570,  // configfs: objects of the kernel are made by mkdir
	0xde5e81e4,  // efivarfs: the firmware's variables
	0x6165676c,  // pstore: logs of crashed kernels
	0x42494e4d,  // binfmt_misc: interpreters of programs
	0x6e736673,  // nsfs: namespaces
	0x19800202,  // mqueue: message queues between processes
	0x65735543,  // fusectl: connections of file systems
	0x6e667364,  // nfsd: the file server
	0x67596969,  // rpc_pipefs: the kernel's requests to its servers
	0x00009fa2,  // usbfs: USB devices
	0xabba1974,  // xenfs: the hypervisor
}

// kernelFiles reports whether the file open as fd, be it with O_PATH, is on a file
// system of the kernel's own, or on one that cannot be told.
func kernelFiles(fd int) bool {
	var st syscall.Statfs_t
	for {
		err := syscall.Fstatfs(fd, &st)
		if err == syscall.EINTR {
			continue
		}
		return err != nil || isKernelFileSystem(uint32(st.Type))
	}
}

func isKernelFileSystem(magic uint32) bool {
	for _, m := range kernelFileSystems {
		if m == magic {
			return true
		}
	}
	return false
}

// openable returns the error for opening a file of a mode and device number: ELOOP for
// a link that was not followed, EACCES for a device unless devices are allowed, as on
// a file system mounted without them. Devices that hold nothing are always allowed:
// many programs open /dev/null, and a guest has zeros and random numbers anyhow.
func openable(mode uint32, rdev uint64, devices bool) Errno {
	const memory = 1 // major number
	switch mode & syscall.S_IFMT {
	case syscall.S_IFLNK:
		return ErrnoLoop
	case syscall.S_IFBLK:
		if !devices {
			return ErrnoAcces
		}
	case syscall.S_IFCHR:
		switch rdev {
		case memory<<8 | 3, memory<<8 | 5, memory<<8 | 7, memory<<8 | 8, memory<<8 | 9: // null, zero, full, random, urandom
		default:
			if !devices {
				return ErrnoAcces
			}
		}
	}
	return ErrnoSuccess
}
