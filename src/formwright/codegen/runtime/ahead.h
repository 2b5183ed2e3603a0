
/* The input that is packed ahead: `ahead` holds fw_ahead_bytes and is aligned to 64. */
int64_t fw_ahead_bytes(const int64_t *const extents) {
    fw_env e = {0};
    if (fw_extents(&e, extents)) return -1;
    return fw_ahead_of(&e);
}

int32_t fw_prepare(void *const *const tensors, const int64_t *const strides,
                   const int64_t *const extents, void *const scratch, const int64_t scratch_bytes,
                   const int32_t threads, void *const ahead) {
    fw_env e = {0};
    const int32_t code = fw_enter(&e, tensors, strides, extents, scratch, scratch_bytes, threads);
    if (code) return code;
    fw_place_ahead(&e, ahead);
    fw_run_ahead(&e);
    fw_code_ahead(&e);
    fw_release(e.threads);
    return 0;
}

int32_t fw_call_ahead(void *const *const tensors, const int64_t *const strides,
                      const int64_t *const extents, void *const scratch,
                      const int64_t scratch_bytes, const int32_t threads,
                      const void *const ahead) {
    fw_env e = {0};
    const int32_t code = fw_enter(&e, tensors, strides, extents, scratch, scratch_bytes, threads);
    if (code) return code;
    fw_place_ahead(&e, (char *)ahead);
    fw_run(&e);
    fw_release(e.threads);
    return 0;
}
