//go:build linux

package wasi

import (
	"strconv"
	"syscall"
)

// Errno is a preview 1 error number; zero is success.
type Errno uint16

// The error numbers of preview 1.
const (
	ErrnoSuccess Errno = iota
	Errno2Big
	ErrnoAcces
	ErrnoAddrInUse
	ErrnoAddrNotAvail
	ErrnoAfNoSupport
	ErrnoAgain
	ErrnoAlready
	ErrnoBadf
	ErrnoBadMsg
	ErrnoBusy
	ErrnoCanceled
	ErrnoChild
	ErrnoConnAborted
	ErrnoConnRefused
	ErrnoConnReset
	ErrnoDeadlk
	ErrnoDestAddrReq
	ErrnoDom
	ErrnoDquot
	ErrnoExist
	ErrnoFault
	ErrnoFbig
	ErrnoHostUnreach
	ErrnoIdrm
	ErrnoIlseq
	ErrnoInProgress
	ErrnoIntr
	ErrnoInval
	ErrnoIo
	ErrnoIsConn
	ErrnoIsdir
	ErrnoLoop
	ErrnoMfile
	ErrnoMlink
	ErrnoMsgSize
	ErrnoMultihop
	ErrnoNameTooLong
	ErrnoNetDown
	ErrnoNetReset
	ErrnoNetUnreach
	ErrnoNfile
	ErrnoNoBufs
	ErrnoNoDev
	ErrnoNoent
	ErrnoNoExec
	ErrnoNoLck
	ErrnoNoLink
	ErrnoNoMem
	ErrnoNoMsg
	ErrnoNoProtoOpt
	ErrnoNoSpc
	ErrnoNoSys
	ErrnoNotConn
	ErrnoNotdir
	ErrnoNotEmpty
	ErrnoNotRecoverable
	ErrnoNotSock
	ErrnoNotSup
	ErrnoNoTty
	ErrnoNxio
	ErrnoOverflow
	ErrnoOwnerDead
	ErrnoPerm
	ErrnoPipe
	ErrnoProto
	ErrnoProtoNoSupport
	ErrnoPrototype
	ErrnoRange
	ErrnoRofs
	ErrnoSpipe
	ErrnoSrch
	ErrnoStale
	ErrnoTimedOut
	ErrnoTxtBsy
	ErrnoXdev
	ErrnoNotCapable
)

var errnoNames = [...]string{
	ErrnoSuccess: "ESUCCESS", Errno2Big: "E2BIG", ErrnoAcces: "EACCES",
	ErrnoAddrInUse: "EADDRINUSE", ErrnoAddrNotAvail: "EADDRNOTAVAIL",
	ErrnoAfNoSupport: "EAFNOSUPPORT", ErrnoAgain: "EAGAIN", ErrnoAlready: "EALREADY",
	ErrnoBadf: "EBADF", ErrnoBadMsg: "EBADMSG", ErrnoBusy: "EBUSY",
	ErrnoCanceled: "ECANCELED", ErrnoChild: "ECHILD", ErrnoConnAborted: "ECONNABORTED",
	ErrnoConnRefused: "ECONNREFUSED", ErrnoConnReset: "ECONNRESET", ErrnoDeadlk: "EDEADLK",
	ErrnoDestAddrReq: "EDESTADDRREQ", ErrnoDom: "EDOM", ErrnoDquot: "EDQUOT",
	ErrnoExist: "EEXIST", ErrnoFault: "EFAULT", ErrnoFbig: "EFBIG",
	ErrnoHostUnreach: "EHOSTUNREACH", ErrnoIdrm: "EIDRM", ErrnoIlseq: "EILSEQ",
	ErrnoInProgress: "EINPROGRESS", ErrnoIntr: "EINTR", ErrnoInval: "EINVAL", ErrnoIo: "EIO",
	ErrnoIsConn: "EISCONN", ErrnoIsdir: "EISDIR", ErrnoLoop: "ELOOP", ErrnoMfile: "EMFILE",
	ErrnoMlink: "EMLINK", ErrnoMsgSize: "EMSGSIZE", ErrnoMultihop: "EMULTIHOP",
	ErrnoNameTooLong: "ENAMETOOLONG", ErrnoNetDown: "ENETDOWN", ErrnoNetReset: "ENETRESET",
	ErrnoNetUnreach: "ENETUNREACH", ErrnoNfile: "ENFILE", ErrnoNoBufs: "ENOBUFS",
	ErrnoNoDev: "ENODEV", ErrnoNoent: "ENOENT", ErrnoNoExec: "ENOEXEC", ErrnoNoLck: "ENOLCK",
	ErrnoNoLink: "ENOLINK", ErrnoNoMem: "ENOMEM", ErrnoNoMsg: "ENOMSG",
	ErrnoNoProtoOpt: "ENOPROTOOPT", ErrnoNoSpc: "ENOSPC", ErrnoNoSys: "ENOSYS",
	ErrnoNotConn: "ENOTCONN", ErrnoNotdir: "ENOTDIR", ErrnoNotEmpty: "ENOTEMPTY",
	ErrnoNotRecoverable: "ENOTRECOVERABLE", ErrnoNotSock: "ENOTSOCK", ErrnoNotSup: "ENOTSUP",
	ErrnoNoTty: "ENOTTY", ErrnoNxio: "ENXIO", ErrnoOverflow: "EOVERFLOW",
	ErrnoOwnerDead: "EOWNERDEAD", ErrnoPerm: "EPERM", ErrnoPipe: "EPIPE", ErrnoProto: "EPROTO",
	ErrnoProtoNoSupport: "EPROTONOSUPPORT", ErrnoPrototype: "EPROTOTYPE", ErrnoRange: "ERANGE",
	ErrnoRofs: "EROFS", ErrnoSpipe: "ESPIPE", ErrnoSrch: "ESRCH", ErrnoStale: "ESTALE",
	ErrnoTimedOut: "ETIMEDOUT", ErrnoTxtBsy: "ETXTBSY", ErrnoXdev: "EXDEV",
	ErrnoNotCapable: "ENOTCAPABLE",
}

// String returns the name, such as "ENOENT".
func (e Errno) String() string {
	if int(e) < len(errnoNames) {
		return errnoNames[e]
	}
	return "errno " + strconv.Itoa(int(e))
}

// Error makes Errno an error; a success value should not be used as one.
func (e Errno) Error() string { return "wasi: " + e.String() }

// hostErrnos maps Linux error numbers; a gap (zero) is reported as EIO.
var hostErrnos = [...]Errno{
	syscall.E2BIG: Errno2Big, syscall.EACCES: ErrnoAcces, syscall.EADDRINUSE: ErrnoAddrInUse,
	syscall.EADDRNOTAVAIL: ErrnoAddrNotAvail, syscall.EAFNOSUPPORT: ErrnoAfNoSupport,
	syscall.EAGAIN: ErrnoAgain, syscall.EALREADY: ErrnoAlready, syscall.EBADF: ErrnoBadf,
	syscall.EBADMSG: ErrnoBadMsg, syscall.EBUSY: ErrnoBusy, syscall.ECANCELED: ErrnoCanceled,
	syscall.ECHILD: ErrnoChild, syscall.ECONNABORTED: ErrnoConnAborted,
	syscall.ECONNREFUSED: ErrnoConnRefused, syscall.ECONNRESET: ErrnoConnReset,
	syscall.EDEADLK: ErrnoDeadlk, syscall.EDESTADDRREQ: ErrnoDestAddrReq, syscall.EDOM: ErrnoDom,
	syscall.EDQUOT: ErrnoDquot, syscall.EEXIST: ErrnoExist, syscall.EFAULT: ErrnoFault,
	syscall.EFBIG: ErrnoFbig, syscall.EHOSTUNREACH: ErrnoHostUnreach, syscall.EIDRM: ErrnoIdrm,
	syscall.EILSEQ: ErrnoIlseq, syscall.EINPROGRESS: ErrnoInProgress, syscall.EINTR: ErrnoIntr,
	syscall.EINVAL: ErrnoInval, syscall.EIO: ErrnoIo, syscall.EISCONN: ErrnoIsConn,
	syscall.EISDIR: ErrnoIsdir, syscall.ELOOP: ErrnoLoop, syscall.EMFILE: ErrnoMfile,
	syscall.EMLINK: ErrnoMlink, syscall.EMSGSIZE: ErrnoMsgSize, syscall.EMULTIHOP: ErrnoMultihop,
	syscall.ENAMETOOLONG: ErrnoNameTooLong, syscall.ENETDOWN: ErrnoNetDown,
	syscall.ENETRESET: ErrnoNetReset, syscall.ENETUNREACH: ErrnoNetUnreach,
	syscall.ENFILE: ErrnoNfile, syscall.ENOBUFS: ErrnoNoBufs, syscall.ENODEV: ErrnoNoDev,
	syscall.ENOENT: ErrnoNoent, syscall.ENOEXEC: ErrnoNoExec, syscall.ENOLCK: ErrnoNoLck,
	syscall.ENOLINK: ErrnoNoLink, syscall.ENOMEM: ErrnoNoMem, syscall.ENOMSG: ErrnoNoMsg,
	syscall.ENOPROTOOPT: ErrnoNoProtoOpt, syscall.ENOSPC: ErrnoNoSpc, syscall.ENOSYS: ErrnoNoSys,
	syscall.ENOTCONN: ErrnoNotConn, syscall.ENOTDIR: ErrnoNotdir,
	syscall.ENOTEMPTY: ErrnoNotEmpty, syscall.ENOTRECOVERABLE: ErrnoNotRecoverable,
	syscall.ENOTSOCK: ErrnoNotSock, syscall.EOPNOTSUPP: ErrnoNotSup, syscall.ENOTTY: ErrnoNoTty,
	syscall.ENXIO: ErrnoNxio, syscall.EOVERFLOW: ErrnoOverflow,
	syscall.EOWNERDEAD: ErrnoOwnerDead, syscall.EPERM: ErrnoPerm, syscall.EPIPE: ErrnoPipe,
	syscall.EPROTO: ErrnoProto, syscall.EPROTONOSUPPORT: ErrnoProtoNoSupport,
	syscall.EPROTOTYPE: ErrnoPrototype, syscall.ERANGE: ErrnoRange, syscall.EROFS: ErrnoRofs,
	syscall.ESPIPE: ErrnoSpipe, syscall.ESRCH: ErrnoSrch, syscall.ESTALE: ErrnoStale,
	syscall.ETIMEDOUT: ErrnoTimedOut, syscall.ETXTBSY: ErrnoTxtBsy, syscall.EXDEV: ErrnoXdev,
}

// hostErrno translates a Linux error number.
func hostErrno(e syscall.Errno) Errno {
	if e == 0 {
		return ErrnoSuccess
	}
	if int(e) < len(hostErrnos) && hostErrnos[e] != 0 {
		return hostErrnos[e]
	}
	return ErrnoIo
}
