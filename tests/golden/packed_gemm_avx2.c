typedef struct {
    int64_t n_M;
    int64_t n_N;
    int64_t n_K;
    const float *t_A;
    int64_t s_A;
    const float *t_B;
    int64_t s_B;
    float *t_C;
    int64_t s_C;
    float *b_Ap;
    int64_t i_ic;
    int64_t i_pc;
    int64_t o_b_Bp;
    char *slices;
    int64_t slice_bytes;
    int32_t threads;
} fw_env;

static void phase(int64_t lo, int64_t hi, int32_t agent, const void *env) {
    const fw_env *const e = env;
    char *const slice = e->slices + agent * e->slice_bytes;
    (void)slice;
    int64_t const n_M FW_MAYBE = e->n_M;
    int64_t const n_N FW_MAYBE = e->n_N;
    int64_t const n_K FW_MAYBE = e->n_K;
    const float *const t_A FW_MAYBE = e->t_A;
    int64_t const s_A FW_MAYBE = e->s_A;
    const float *const t_B FW_MAYBE = e->t_B;
    int64_t const s_B FW_MAYBE = e->s_B;
    float *const t_C FW_MAYBE = e->t_C;
    int64_t const s_C FW_MAYBE = e->s_C;
    int64_t const i_ic FW_MAYBE = e->i_ic;
    int64_t const i_pc FW_MAYBE = e->i_pc;
    float *const b_Ap FW_MAYBE = e->b_Ap;
    for (int64_t at = lo; at < hi; at++) {
        const int64_t i_ip = at;
        for (int64_t i_q = 0, end_i_q = 4; i_q < end_i_q; i_q++) {
            for (int64_t i_h = 0, end_i_h = 4; i_h < end_i_h; i_h++) {
                __builtin_prefetch(t_A + (i_ic * 48 + i_ip * 4 + i_h + 4) * s_A + i_pc * 64 + i_q * 16);
            }
        }
        {
            int64_t i_l = 0;
            for (; i_l + 4 <= fw_min(64, (n_K - (i_pc * 64))) && i_ic * 48 + i_ip * 4 + 3 < n_M; i_l += 4) {
                fw_transpose_4(t_A + (i_ic * 48 + i_ip * 4) * s_A + i_pc * 64 + i_l, s_A, b_Ap + i_ip * 256 + i_l * 4, 4);
            }
            for (; i_l < fw_min(64, (n_K - (i_pc * 64))); i_l++) {
                for (int64_t i_r = 0; i_r < 4; i_r++) {
                    b_Ap[i_ip * 256 + i_l * 4 + i_r] = (i_ic * 48 + i_ip * 4 + i_r < n_M ? t_A[(i_ic * 48 + i_ip * 4 + i_r) * s_A + i_pc * 64 + i_l] : 0.0f);
                }
            }
        }
    }
}

FW_INLINE void tile(const fw_env *const e, const int64_t i_jb, const int64_t i_ib, float *const b_Bp, const int64_t i_ir, const int64_t i_jr, const int64_t columns, const int rows, const int vectors, const int partial) {
    int64_t const n_M FW_MAYBE = e->n_M;
    int64_t const n_N FW_MAYBE = e->n_N;
    int64_t const n_K FW_MAYBE = e->n_K;
    const float *const t_A FW_MAYBE = e->t_A;
    int64_t const s_A FW_MAYBE = e->s_A;
    const float *const t_B FW_MAYBE = e->t_B;
    int64_t const s_B FW_MAYBE = e->s_B;
    float *const t_C FW_MAYBE = e->t_C;
    int64_t const s_C FW_MAYBE = e->s_C;
    int64_t const i_ic FW_MAYBE = e->i_ic;
    int64_t const i_pc FW_MAYBE = e->i_pc;
    float *const b_Ap FW_MAYBE = e->b_Ap;
    (void)columns, (void)partial;
    if (0 < rows) { __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, 1); __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 23, 1); }
    if (1 < rows) { __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, 1); __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 23, 1); }
    if (2 < rows) { __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, 1); __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 23, 1); }
    if (3 < rows) { __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, 1); __builtin_prefetch(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 23, 1); }
    fw_vec r_acc_0_0, r_acc_0_1, r_acc_0_2;
    fw_vec r_acc_1_0, r_acc_1_1, r_acc_1_2;
    fw_vec r_acc_2_0, r_acc_2_1, r_acc_2_2;
    fw_vec r_acc_3_0, r_acc_3_1, r_acc_3_2;
    {
        if (0 < rows) {
            if (0 < vectors) { r_acc_0_0 = (fw_vec){0}; }
            if (1 < vectors) { r_acc_0_1 = (fw_vec){0}; }
            if (2 < vectors) { r_acc_0_2 = (fw_vec){0}; }
        }
        if (1 < rows) {
            if (0 < vectors) { r_acc_1_0 = (fw_vec){0}; }
            if (1 < vectors) { r_acc_1_1 = (fw_vec){0}; }
            if (2 < vectors) { r_acc_1_2 = (fw_vec){0}; }
        }
        if (2 < rows) {
            if (0 < vectors) { r_acc_2_0 = (fw_vec){0}; }
            if (1 < vectors) { r_acc_2_1 = (fw_vec){0}; }
            if (2 < vectors) { r_acc_2_2 = (fw_vec){0}; }
        }
        if (3 < rows) {
            if (0 < vectors) { r_acc_3_0 = (fw_vec){0}; }
            if (1 < vectors) { r_acc_3_1 = (fw_vec){0}; }
            if (2 < vectors) { r_acc_3_2 = (fw_vec){0}; }
        }
    }
    {
        int64_t i_l = 0;
        const int64_t end_i_l = fw_min(64, (n_K - (i_pc * 64)));
        for (; i_l + 4 <= end_i_l; i_l += 4) {
            {
                {
                    const fw_vec x1 = (0 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24) : (fw_vec){0});
                    const fw_vec x2 = (1 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24 + 8) : (fw_vec){0});
                    const fw_vec x3 = (2 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24 + 16) : (fw_vec){0});
                    if (0 < rows) {
                        const fw_vec x0 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4));
                        if (0 < vectors) { r_acc_0_0 = fw_fma(x0, x1, r_acc_0_0); }
                        if (1 < vectors) { r_acc_0_1 = fw_fma(x0, x2, r_acc_0_1); }
                        if (2 < vectors) { r_acc_0_2 = fw_fma(x0, x3, r_acc_0_2); }
                    }
                    if (1 < rows) {
                        const fw_vec x4 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 1));
                        if (0 < vectors) { r_acc_1_0 = fw_fma(x4, x1, r_acc_1_0); }
                        if (1 < vectors) { r_acc_1_1 = fw_fma(x4, x2, r_acc_1_1); }
                        if (2 < vectors) { r_acc_1_2 = fw_fma(x4, x3, r_acc_1_2); }
                    }
                    if (2 < rows) {
                        const fw_vec x5 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 2));
                        if (0 < vectors) { r_acc_2_0 = fw_fma(x5, x1, r_acc_2_0); }
                        if (1 < vectors) { r_acc_2_1 = fw_fma(x5, x2, r_acc_2_1); }
                        if (2 < vectors) { r_acc_2_2 = fw_fma(x5, x3, r_acc_2_2); }
                    }
                    if (3 < rows) {
                        const fw_vec x6 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 3));
                        if (0 < vectors) { r_acc_3_0 = fw_fma(x6, x1, r_acc_3_0); }
                        if (1 < vectors) { r_acc_3_1 = fw_fma(x6, x2, r_acc_3_1); }
                        if (2 < vectors) { r_acc_3_2 = fw_fma(x6, x3, r_acc_3_2); }
                    }
                }
            }
            {
                {
                    const fw_vec x1 = (0 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 1) * 24) : (fw_vec){0});
                    const fw_vec x2 = (1 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 1) * 24 + 8) : (fw_vec){0});
                    const fw_vec x3 = (2 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 1) * 24 + 16) : (fw_vec){0});
                    if (0 < rows) {
                        const fw_vec x0 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 1) * 4));
                        if (0 < vectors) { r_acc_0_0 = fw_fma(x0, x1, r_acc_0_0); }
                        if (1 < vectors) { r_acc_0_1 = fw_fma(x0, x2, r_acc_0_1); }
                        if (2 < vectors) { r_acc_0_2 = fw_fma(x0, x3, r_acc_0_2); }
                    }
                    if (1 < rows) {
                        const fw_vec x4 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 1) * 4 + 1));
                        if (0 < vectors) { r_acc_1_0 = fw_fma(x4, x1, r_acc_1_0); }
                        if (1 < vectors) { r_acc_1_1 = fw_fma(x4, x2, r_acc_1_1); }
                        if (2 < vectors) { r_acc_1_2 = fw_fma(x4, x3, r_acc_1_2); }
                    }
                    if (2 < rows) {
                        const fw_vec x5 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 1) * 4 + 2));
                        if (0 < vectors) { r_acc_2_0 = fw_fma(x5, x1, r_acc_2_0); }
                        if (1 < vectors) { r_acc_2_1 = fw_fma(x5, x2, r_acc_2_1); }
                        if (2 < vectors) { r_acc_2_2 = fw_fma(x5, x3, r_acc_2_2); }
                    }
                    if (3 < rows) {
                        const fw_vec x6 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 1) * 4 + 3));
                        if (0 < vectors) { r_acc_3_0 = fw_fma(x6, x1, r_acc_3_0); }
                        if (1 < vectors) { r_acc_3_1 = fw_fma(x6, x2, r_acc_3_1); }
                        if (2 < vectors) { r_acc_3_2 = fw_fma(x6, x3, r_acc_3_2); }
                    }
                }
            }
            {
                {
                    const fw_vec x1 = (0 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 2) * 24) : (fw_vec){0});
                    const fw_vec x2 = (1 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 2) * 24 + 8) : (fw_vec){0});
                    const fw_vec x3 = (2 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 2) * 24 + 16) : (fw_vec){0});
                    if (0 < rows) {
                        const fw_vec x0 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 2) * 4));
                        if (0 < vectors) { r_acc_0_0 = fw_fma(x0, x1, r_acc_0_0); }
                        if (1 < vectors) { r_acc_0_1 = fw_fma(x0, x2, r_acc_0_1); }
                        if (2 < vectors) { r_acc_0_2 = fw_fma(x0, x3, r_acc_0_2); }
                    }
                    if (1 < rows) {
                        const fw_vec x4 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 2) * 4 + 1));
                        if (0 < vectors) { r_acc_1_0 = fw_fma(x4, x1, r_acc_1_0); }
                        if (1 < vectors) { r_acc_1_1 = fw_fma(x4, x2, r_acc_1_1); }
                        if (2 < vectors) { r_acc_1_2 = fw_fma(x4, x3, r_acc_1_2); }
                    }
                    if (2 < rows) {
                        const fw_vec x5 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 2) * 4 + 2));
                        if (0 < vectors) { r_acc_2_0 = fw_fma(x5, x1, r_acc_2_0); }
                        if (1 < vectors) { r_acc_2_1 = fw_fma(x5, x2, r_acc_2_1); }
                        if (2 < vectors) { r_acc_2_2 = fw_fma(x5, x3, r_acc_2_2); }
                    }
                    if (3 < rows) {
                        const fw_vec x6 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 2) * 4 + 3));
                        if (0 < vectors) { r_acc_3_0 = fw_fma(x6, x1, r_acc_3_0); }
                        if (1 < vectors) { r_acc_3_1 = fw_fma(x6, x2, r_acc_3_1); }
                        if (2 < vectors) { r_acc_3_2 = fw_fma(x6, x3, r_acc_3_2); }
                    }
                }
            }
            {
                {
                    const fw_vec x1 = (0 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 3) * 24) : (fw_vec){0});
                    const fw_vec x2 = (1 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 3) * 24 + 8) : (fw_vec){0});
                    const fw_vec x3 = (2 < vectors ? fw_load(b_Bp + i_jr * 1536 + (i_l + 3) * 24 + 16) : (fw_vec){0});
                    if (0 < rows) {
                        const fw_vec x0 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 3) * 4));
                        if (0 < vectors) { r_acc_0_0 = fw_fma(x0, x1, r_acc_0_0); }
                        if (1 < vectors) { r_acc_0_1 = fw_fma(x0, x2, r_acc_0_1); }
                        if (2 < vectors) { r_acc_0_2 = fw_fma(x0, x3, r_acc_0_2); }
                    }
                    if (1 < rows) {
                        const fw_vec x4 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 3) * 4 + 1));
                        if (0 < vectors) { r_acc_1_0 = fw_fma(x4, x1, r_acc_1_0); }
                        if (1 < vectors) { r_acc_1_1 = fw_fma(x4, x2, r_acc_1_1); }
                        if (2 < vectors) { r_acc_1_2 = fw_fma(x4, x3, r_acc_1_2); }
                    }
                    if (2 < rows) {
                        const fw_vec x5 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 3) * 4 + 2));
                        if (0 < vectors) { r_acc_2_0 = fw_fma(x5, x1, r_acc_2_0); }
                        if (1 < vectors) { r_acc_2_1 = fw_fma(x5, x2, r_acc_2_1); }
                        if (2 < vectors) { r_acc_2_2 = fw_fma(x5, x3, r_acc_2_2); }
                    }
                    if (3 < rows) {
                        const fw_vec x6 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + (i_l + 3) * 4 + 3));
                        if (0 < vectors) { r_acc_3_0 = fw_fma(x6, x1, r_acc_3_0); }
                        if (1 < vectors) { r_acc_3_1 = fw_fma(x6, x2, r_acc_3_1); }
                        if (2 < vectors) { r_acc_3_2 = fw_fma(x6, x3, r_acc_3_2); }
                    }
                }
            }
        }
        for (; i_l < end_i_l; i_l++) {
            {
                const fw_vec x1 = (0 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24) : (fw_vec){0});
                const fw_vec x2 = (1 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24 + 8) : (fw_vec){0});
                const fw_vec x3 = (2 < vectors ? fw_load(b_Bp + i_jr * 1536 + i_l * 24 + 16) : (fw_vec){0});
                if (0 < rows) {
                    const fw_vec x0 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4));
                    if (0 < vectors) { r_acc_0_0 = fw_fma(x0, x1, r_acc_0_0); }
                    if (1 < vectors) { r_acc_0_1 = fw_fma(x0, x2, r_acc_0_1); }
                    if (2 < vectors) { r_acc_0_2 = fw_fma(x0, x3, r_acc_0_2); }
                }
                if (1 < rows) {
                    const fw_vec x4 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 1));
                    if (0 < vectors) { r_acc_1_0 = fw_fma(x4, x1, r_acc_1_0); }
                    if (1 < vectors) { r_acc_1_1 = fw_fma(x4, x2, r_acc_1_1); }
                    if (2 < vectors) { r_acc_1_2 = fw_fma(x4, x3, r_acc_1_2); }
                }
                if (2 < rows) {
                    const fw_vec x5 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 2));
                    if (0 < vectors) { r_acc_2_0 = fw_fma(x5, x1, r_acc_2_0); }
                    if (1 < vectors) { r_acc_2_1 = fw_fma(x5, x2, r_acc_2_1); }
                    if (2 < vectors) { r_acc_2_2 = fw_fma(x5, x3, r_acc_2_2); }
                }
                if (3 < rows) {
                    const fw_vec x6 = fw_splat(*(b_Ap + i_ib * 512 + i_ir * 256 + i_l * 4 + 3));
                    if (0 < vectors) { r_acc_3_0 = fw_fma(x6, x1, r_acc_3_0); }
                    if (1 < vectors) { r_acc_3_1 = fw_fma(x6, x2, r_acc_3_1); }
                    if (2 < vectors) { r_acc_3_2 = fw_fma(x6, x3, r_acc_3_2); }
                }
            }
        }
    }
    if ((i_pc == 0)) {
        {
            if (0 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, r_acc_0_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, r_acc_0_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_0_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_0_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_0_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_0_2); }
            }
            if (1 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, r_acc_1_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, r_acc_1_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_1_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_1_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_1_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_1_2); }
            }
            if (2 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, r_acc_2_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, r_acc_2_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_2_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_2_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_2_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_2_2); }
            }
            if (3 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, r_acc_3_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, r_acc_3_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_3_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8, r_acc_3_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_3_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16, r_acc_3_2); }
            }
        }
    }
    if ((i_pc > 0)) {
        {
            if (0 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, columns - 0) + r_acc_0_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24) + r_acc_0_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8, columns - 8) + r_acc_0_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 8) + r_acc_0_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16, columns - 16) + r_acc_0_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4) * s_C + i_jb * 48 + i_jr * 24 + 16) + r_acc_0_2); }
            }
            if (1 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, columns - 0) + r_acc_1_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24) + r_acc_1_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8, columns - 8) + r_acc_1_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 8) + r_acc_1_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16, columns - 16) + r_acc_1_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 1) * s_C + i_jb * 48 + i_jr * 24 + 16) + r_acc_1_2); }
            }
            if (2 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, columns - 0) + r_acc_2_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24) + r_acc_2_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8, columns - 8) + r_acc_2_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 8) + r_acc_2_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16, columns - 16) + r_acc_2_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 2) * s_C + i_jb * 48 + i_jr * 24 + 16) + r_acc_2_2); }
            }
            if (3 < rows) {
                if (0 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, columns - 0) + r_acc_3_0, columns - 0); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24) + r_acc_3_0); }
                if (1 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8, columns - 8) + r_acc_3_1, columns - 8); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 8) + r_acc_3_1); }
                if (2 < vectors) { if (partial) fw_store_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load_part(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16, columns - 16) + r_acc_3_2, columns - 16); else fw_store(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16, fw_load(t_C + (i_ic * 48 + i_ib * 8 + i_ir * 4 + 3) * s_C + i_jb * 48 + i_jr * 24 + 16) + r_acc_3_2); }
            }
        }
    }
}

static __attribute__((noinline)) void tile_ragged(const fw_env *const e, const int64_t i_jb, const int64_t i_ib, float *const b_Bp, const int64_t i_ir, const int64_t i_jr, const int64_t height, const int64_t columns) {
    switch (height >= 4 ? fw_ceil_div(columns, 8) : 0) {
        case 0: break;
        case 1: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 4, 1, 1); return;
        case 2: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 4, 2, 1); return;
        default: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 4, 3, 1); return;
    }
    switch (height) {
        case 1: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 1, 3, 1); return;
        case 2: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 2, 3, 1); return;
        case 3: tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 3, 3, 1); return;
    }
}

static void phase_2(int64_t lo, int64_t hi, int32_t agent, const void *env) {
    const fw_env *const e = env;
    char *const slice = e->slices + agent * e->slice_bytes;
    (void)slice;
    int64_t const n_M FW_MAYBE = e->n_M;
    int64_t const n_N FW_MAYBE = e->n_N;
    int64_t const n_K FW_MAYBE = e->n_K;
    const float *const t_A FW_MAYBE = e->t_A;
    int64_t const s_A FW_MAYBE = e->s_A;
    const float *const t_B FW_MAYBE = e->t_B;
    int64_t const s_B FW_MAYBE = e->s_B;
    float *const t_C FW_MAYBE = e->t_C;
    int64_t const s_C FW_MAYBE = e->s_C;
    int64_t const i_ic FW_MAYBE = e->i_ic;
    int64_t const i_pc FW_MAYBE = e->i_pc;
    float *const b_Ap FW_MAYBE = e->b_Ap;
    for (int64_t at = lo; at < hi; at++) {
        const int64_t i_ib = at % (fw_ceil_div(fw_ceil_div(fw_min(48, (n_M - (i_ic * 48))), 4), 2));
        const int64_t i_jb = at / (fw_ceil_div(fw_ceil_div(fw_min(48, (n_M - (i_ic * 48))), 4), 2));
        float *const b_Bp = (float *)(slice + e->o_b_Bp);
        for (int64_t i_u = 0, end_i_u = fw_min(64, (n_K - (i_pc * 64))); i_u < end_i_u; i_u++) {
            for (int64_t i_q = 0, end_i_q = 3; i_q < end_i_q; i_q++) {
                __builtin_prefetch(t_B + (i_pc * 64 + i_u + 8) * s_B + i_jb * 48 + i_q * 16);
            }
            for (int64_t i_jp = 0; i_jp < fw_ceil_div(fw_min(48, (n_N - (i_jb * 48))), 24); i_jp++) {
                if (i_jb * 48 + i_jp * 24 + 23 < n_N) {
                    fw_store(b_Bp + i_jp * 1536 + i_u * 24, fw_load(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24));
                    fw_store(b_Bp + i_jp * 1536 + i_u * 24 + 8, fw_load(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24 + 8));
                    fw_store(b_Bp + i_jp * 1536 + i_u * 24 + 16, fw_load(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24 + 16));
                }
                else {
                    fw_store_part(b_Bp + i_jp * 1536 + i_u * 24, fw_load_part(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24, fw_min(8, n_N - (i_jb * 48 + i_jp * 24))), 8);
                    fw_store_part(b_Bp + i_jp * 1536 + i_u * 24 + 8, fw_load_part(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24 + 8, fw_min(8, n_N - (i_jb * 48 + i_jp * 24 + 8))), 8);
                    fw_store_part(b_Bp + i_jp * 1536 + i_u * 24 + 16, fw_load_part(t_B + (i_pc * 64 + i_u) * s_B + i_jb * 48 + i_jp * 24 + 16, fw_min(8, n_N - (i_jb * 48 + i_jp * 24 + 16))), 8);
                }
            }
        }
        for (int64_t i_ir = 0, end_i_ir = fw_min(2, (fw_ceil_div(fw_min(48, (n_M - (i_ic * 48))), 4) - (i_ib * 2))); i_ir < end_i_ir; i_ir++) {
            for (int64_t i_jr = 0, end_i_jr = fw_ceil_div(fw_min(48, (n_N - (i_jb * 48))), 24); i_jr < end_i_jr; i_jr++) {
                {
                    const int64_t height = n_M - (i_ic * 48 + i_ib * 8 + i_ir * 4), columns = n_N - (i_jb * 48 + i_jr * 24);
                    if (height >= 4 && columns >= 24)
                        tile(e, i_jb, i_ib, b_Bp, i_ir, i_jr, columns, 4, 3, 0);
                    else if (height > 0 && columns > 0)
                        tile_ragged(e, i_jb, i_ib, b_Bp, i_ir, i_jr, height, columns);
                }
            }
        }
    }
}

static void fw_run_ahead(fw_env *const e) {
    int64_t const n_M FW_MAYBE = e->n_M;
    int64_t const n_N FW_MAYBE = e->n_N;
    int64_t const n_K FW_MAYBE = e->n_K;
    const float *const t_A FW_MAYBE = e->t_A;
    int64_t const s_A FW_MAYBE = e->s_A;
    const float *const t_B FW_MAYBE = e->t_B;
    int64_t const s_B FW_MAYBE = e->s_B;
    float *const t_C FW_MAYBE = e->t_C;
    int64_t const s_C FW_MAYBE = e->s_C;
}

static void fw_run(fw_env *const e) {
    int64_t const n_M FW_MAYBE = e->n_M;
    int64_t const n_N FW_MAYBE = e->n_N;
    int64_t const n_K FW_MAYBE = e->n_K;
    const float *const t_A FW_MAYBE = e->t_A;
    int64_t const s_A FW_MAYBE = e->s_A;
    const float *const t_B FW_MAYBE = e->t_B;
    int64_t const s_B FW_MAYBE = e->s_B;
    float *const t_C FW_MAYBE = e->t_C;
    int64_t const s_C FW_MAYBE = e->s_C;
    for (int64_t i_ic = 0, end_i_ic = fw_ceil_div(n_M, 48); i_ic < end_i_ic; i_ic++) {
        e->i_ic = i_ic;
        for (int64_t i_pc = 0, end_i_pc = fw_max(1, fw_ceil_div(n_K, 64)); i_pc < end_i_pc; i_pc++) {
            e->i_pc = i_pc;
            float *const b_Ap FW_MAYBE = e->b_Ap;
            fw_parallel(phase, e, fw_ceil_div(fw_min(48, (n_M - (i_ic * 48))), 4), e->threads);
            fw_parallel(phase_2, e, fw_ceil_div(n_N, 48) * fw_ceil_div(fw_ceil_div(fw_min(48, (n_M - (i_ic * 48))), 4), 2), e->threads);
        }
    }
}
