/* Options of the test programs. */

/* no_openat2 makes the kernel answer that it does not know openat2, as old ones do. */
static void no_openat2(void)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 437, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 38),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog filter = {.len = sizeof code / sizeof *code, .filter = code};
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter)) {
		perror("seccomp");
		exit(113);
	}
}

static waot_instance *instantiate(const waot_object *object)
{
	waot_trap trap;
	waot_instance *inst = waot_instance_of(object);
	if (!inst || waot_instance_init(inst, NULL, NULL, &trap)) {
		fprintf(stderr, "cannot instantiate: %s\n", inst ? trap.message : "no memory");
		exit(115);
	}
	return inst;
}

/* options makes a configuration of the arguments, and gives the index of the first that is the guest's. */
static int options(int argc, char **argv, waot_wasi_config *config)
{
	static waot_wasi_dir dirs[8];
	static const char *env[32];
	static int sockets[4];
	size_t num_env = 0;
	int i;
	memset(config, 0, sizeof *config);
	for (int fd = 0; fd < 3; fd++)
		config->fds[fd] = fd;
	for (i = 1; i < argc && strcmp(argv[i], "--"); i++) {
		if (!strcmp(argv[i], "--no-openat2")) {
			no_openat2();
		} else if (!strcmp(argv[i], "--null")) {
			for (int fd = 0; fd < 3; fd++)
				config->fds[fd] = WAOT_WASI_NULL;
		} else if (!strcmp(argv[i], "--dir")) {
			waot_wasi_dir *d = &dirs[config->num_dirs++];
			char *host = argv[++i], *guest = strstr(host, "::"), *mode = strstr(guest + 2, "::");
			*guest = 0;
			if (mode)
				*mode = 0;
			d->host = host, d->guest = guest + 2, d->fd = -1, d->read_only = mode != NULL;
		} else if (!strcmp(argv[i], "--env")) {
			env[num_env++] = argv[++i];
		} else if (!strcmp(argv[i], "--socket")) {
			sockets[config->num_sockets++] = atoi(argv[++i]);
		} else {
			fprintf(stderr, "unknown option %s\n", argv[i]);
			exit(114);
		}
	}
	config->args = (const char *const *)argv + (i < argc ? i + 1 : i);
	config->env = env;
	config->dirs = dirs;
	config->sockets = sockets;
	return i + 1;
}
