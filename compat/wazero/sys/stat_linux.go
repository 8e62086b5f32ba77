package sys

import "syscall"

// fromSystem takes from the system's status what fs.FileInfo lacks.
func (st *Stat_t) fromSystem(s *syscall.Stat_t) {
	st.Dev, st.Ino, st.Nlink, st.Size = s.Dev, s.Ino, uint64(s.Nlink), s.Size
	st.Atim, st.Mtim, st.Ctim = s.Atim.Nano(), s.Mtim.Nano(), s.Ctim.Nano()
}
