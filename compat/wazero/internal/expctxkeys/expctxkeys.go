// Package expctxkeys has the keys under which package experimental puts settings into contexts, and package run looks for them.
package expctxkeys

type (
	CloseNotifierKey           struct{}
	CompilationWorkers         struct{}
	EnableSnapshotterKey       struct{}
	FunctionListenerFactoryKey struct{}
	ImportResolverKey          struct{}
	MemoryAllocatorKey         struct{}
	SnapshotterKey             struct{}
	SockConfigKey              struct{}
)
