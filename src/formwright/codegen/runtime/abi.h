/* The exported functions. Errors: 1 extents, 2 threads, 3 CPU, 4 scratch too small or absent. */
static int32_t fw_extents(fw_env *const e, const int64_t *const extents) {
/*FILL*/
    return FW_BAD_EXTENTS ? 1 : 0;
}

static void fw_tensors(fw_env *const e, void *const *const tensors, const int64_t *const strides) {
/*TENSORS*/
}

int32_t fw_abi(void) { return FW_ABI_NUMBER; }

int32_t fw_cpu_ok(void) {
    __builtin_cpu_init();
    return FW_CPU;
}

static int64_t fw_aligned(const int64_t address) { return (address + 4095) / 4096 * 4096; }

/* Scratch without what is packed ahead: shared buffers, then a slice for each thread. */
static int64_t fw_scratch_of(fw_env *const e, const int32_t threads) {
    return fw_aligned(fw_place_shared(e, NULL)) + threads * fw_place_private(e) + 4096;
}

static int64_t fw_ahead_of(fw_env *const e) { return fw_place_ahead(e, NULL) + 64; }

int64_t fw_scratch_bytes(const int64_t *const extents, const int32_t threads) {
    fw_env e = {0};
    if (threads < 1 || threads > FW_MOST_THREADS || fw_extents(&e, extents)) return -1;
    return fw_scratch_of(&e, threads) + fw_aligned(fw_ahead_of(&e));
}

static int32_t fw_enter(fw_env *const e, void *const *const tensors, const int64_t *const strides,
                        const int64_t *const extents, void *const scratch, const int64_t bytes,
                        const int32_t threads) {
    if (threads < 1 || threads > FW_MOST_THREADS) return 2;
    if (fw_extents(e, extents)) return 1;
    if (!fw_cpu_ok()) return 3;
    if (bytes < fw_scratch_of(e, threads) || scratch == NULL) return 4;
    fw_tensors(e, tensors, strides);
    char *const base = (char *)fw_aligned((int64_t)(intptr_t)scratch);
    e->slices = base + fw_aligned(fw_place_shared(e, base));
    e->slice_bytes = fw_place_private(e);
    e->threads = fw_acquire(FW_POINTS < FW_SMALL_WORK ? 1 : threads);
    return 0;
}

static void *fw_after(const fw_env *const e, const int32_t threads) {
    return (void *)fw_aligned((int64_t)(intptr_t)(e->slices + threads * e->slice_bytes));
}

int32_t fw_call(void *const *const tensors, const int64_t *const strides,
                const int64_t *const extents, void *const scratch, const int64_t scratch_bytes,
                const int32_t threads) {
    fw_env e = {0};
    if (threads >= 1 && threads <= FW_MOST_THREADS && !fw_extents(&e, extents) &&
        scratch_bytes < fw_scratch_bytes(extents, threads))
        return 4;
    const int32_t code = fw_enter(&e, tensors, strides, extents, scratch, scratch_bytes, threads);
    if (code) return code;
    fw_place_ahead(&e, fw_after(&e, threads));
    fw_run_ahead(&e);
    fw_run(&e);
    fw_release(e.threads);
    return 0;
}
