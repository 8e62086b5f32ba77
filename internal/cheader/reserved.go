package cheader

import "strings"

// keywords are those of C up to C23, of C++ up to C++26, of the extensions of gcc and clang, and C++'s other spellings of operators. The ones
// with a reserved beginning are left out: no name that asks has one.
const keywords = " alignas alignof and and_eq asm atomic_cancel atomic_commit atomic_noexcept auto bitand bitor bool break case catch char char8_t " +
	"char16_t char32_t class co_await co_return co_yield compl complex concept const const_cast consteval constexpr constinit continue " +
	"contract_assert decltype default delete do double dynamic_cast else enum explicit export extern false float for friend goto if imaginary " +
	"inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public reflexpr register " +
	"reinterpret_cast requires restrict return short signed sizeof static static_assert static_cast struct switch synchronized template this " +
	"thread_local throw true try typedef typeid typename typeof typeof_unqual union unsigned using virtual void volatile wchar_t while xor xor_eq "

// macros are macros with lower-case letters, of compilers and of the headers of C and POSIX, that no entry of families covers. Those with
// parameters are here if they have an underscore, which the names of functions in a header have, or if C says that they are macros.
const macros = " assert assert_perror d_fileno environ errno h_addr h_errno i386 kill_dependency linux math_errhandling noreturn offsetof " +
	"P_tmpdir s6_addr s6_addr16 s6_addr32 sa_handler sa_sigaction sched_priority setjmp " +
	"sigev_notify_attributes sigev_notify_function st_atime st_ctime st_mtime stderr stdin stdout unix unreachable " +
	"isalnum_l isalpha_l isascii_l isblank_l iscntrl_l isdigit_l isgraph_l islower_l isprint_l ispunct_l isspace_l isupper_l isxdigit_l " +
	"toascii_l tolower_l toupper_l _tolower _toupper "

// declared are what else headers declare with an underscore: functions of C, and the one of POSIX that is called like one of a header's own.
const declared = " abort_handler_s aligned_alloc at_quick_exit call_once free_aligned_sized free_sized ignore_handler_s jmp_buf memory_order memset_explicit " +
	"once_flag quick_exit set_constraint_handler_s timespec_get timespec_getres timer_delete "

// fieldTypes are the types of fields, whose names would change their meaning in C++.
const fieldTypes = " int32_t int64_t uint8_t uint64_t "

// families are beginnings of names that C or a header of its library keeps for itself, and that occur there with lower-case letters.
var families = [...]string{"AF_", "L_", "La_", "M_", "PF_", "PRI", "SCN", "SHT_", "SYS_", "atomic_", "cnd_", "fmaximum_", "fminimum_", "ifa_", "ifc_", "ifr_", "memory_order_", "mtx_",
	"pthread_cleanup_", "si_", "stdc_", "thrd_", "tss_", "va_"}

// isReserved reports whether a function cannot have a name, which begins as identifier says: it may mean something else in C or C++, whatever standard
// headers a program includes before. Types of C and POSIX end in _t. What C keeps for functions that it may have one day (str, mem and
// a letter) is free: symbols cannot clash, and C has not used such names with underscores.
func isReserved(name string) bool {
	return isReservedField(name) || strings.HasSuffix(name, "_t") || has(declared, name)
}

// isReservedField reports whether a field cannot have a name. Names without lower-case letters are left to macros.
func isReservedField(name string) bool {
	if name == strings.ToUpper(name) && name != strings.ToLower(name) {
		return true
	}
	for _, f := range families {
		if strings.HasPrefix(name, f) {
			return true
		}
	}
	return has(keywords, name) || has(macros, name) || has(fieldTypes, name)
}

// has reports whether a list has a word, which has no blank.
func has(list, word string) bool { return strings.Contains(list, " "+word+" ") }
