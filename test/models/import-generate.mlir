// The programs of a preset, whole for one layer's worth of every role.
// RUN: gpt2-opt %s --test-import-model="model=tiny batch=3 seq=32 chunk=8" | FileCheck %s
// RUN: gpt2-opt %s --test-import-model="model=tiny batch=4" | FileCheck %s --check-prefix=DEFAULTS
// RUN: gpt2-opt %s --test-import-model="model=tiny batch=4 buckets=1,4" | FileCheck %s --check-prefix=BUCKETS
// RUN: gpt2-opt %s --test-import-model="model=gpt2" | FileCheck %s --check-prefix=GPT2
module {}

// CHECK: module attributes {gpt2.model = {config_json = "{\0A  \22activation_function\22: \22gelu_new\22,{{.*}}}\0A", eos = 256 : i64, heads = 2 : i64, inner = 256 : i64, layers = 2 : i64, name = "tiny", padded_vocab = 384 : i64, parameters = 120640 : i64, positions = 32 : i64, vocab = 257 : i64, width = 64 : i64}}
// The tied table is one global, padded; Conv1D weights are transposed.
// CHECK-NEXT: gpt2.global parameter @wte.weight : tensor<384x64xf32> names ["wte.weight", "lm_head.weight"] source [257, 64]
// CHECK-NEXT: gpt2.global parameter @wpe.weight : tensor<64x64xf32> names ["wpe.weight"]
// CHECK-NEXT: gpt2.global parameter @h.0.ln_1.weight : tensor<64xf32> names ["h.0.ln_1.weight"]
// CHECK-NEXT: gpt2.global parameter @h.0.ln_1.bias : tensor<64xf32> names ["h.0.ln_1.bias"]
// CHECK-NEXT: gpt2.global parameter @h.0.attn.c_attn.weight : tensor<192x64xf32> names ["h.0.attn.c_attn.weight"] transpose
// CHECK-NEXT: gpt2.global parameter @h.0.attn.c_attn.bias : tensor<192xf32> names ["h.0.attn.c_attn.bias"]
// CHECK-NEXT: gpt2.global parameter @h.0.attn.c_proj.weight : tensor<64x64xf32> names ["h.0.attn.c_proj.weight"] transpose
// CHECK: gpt2.global parameter @h.0.mlp.c_fc.weight : tensor<256x64xf32> names ["h.0.mlp.c_fc.weight"] transpose
// CHECK: gpt2.global parameter @h.0.mlp.c_proj.weight : tensor<64x256xf32> names ["h.0.mlp.c_proj.weight"] transpose
// CHECK: gpt2.global parameter @h.1.ln_1.weight
// CHECK: gpt2.global parameter @ln_f.weight
// CHECK-NOT: lm_head.weight
// CHECK: gpt2.global cache @h.0.k : tensor<3x2x32x32xf32>
// CHECK-NEXT: gpt2.global cache @h.0.v : tensor<3x2x32x32xf32>
// CHECK-NEXT: gpt2.global cache @h.1.k
// CHECK-NEXT: gpt2.global cache @h.1.v
// CHECK-NEXT: gpt2.global state @tokens : tensor<3xi32>
// CHECK-NEXT: gpt2.global state @positions : tensor<3xi32>
// CHECK-NEXT: gpt2.global state @sampling : tensor<3x8xi32>
// CHECK-NEXT: gpt2.global state @start : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @count : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @slot : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @prompt : tensor<8xi32>
// CHECK-NEXT: gpt2.global state @logits : tensor<3x384xf32>

// CHECK-NEXT: func.func @prefill() attributes {gpt2.program = #gpt2.program<role = prefill, batch = 1, tokens = 8, count = @count>}
// CHECK: %[[X:.*]] = gpt2.embed %prompt, %wte.weight, %wpe.weight at %start batch 1
// CHECK: %[[Y:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm %[[X]], %h.0.ln_1.weight, %h.0.ln_1.bias
// CHECK-NEXT: %[[QKV:.*]] = gpt2.linear %[[Y]], %h.0.attn.c_attn.weight, %h.0.attn.c_attn.bias
// CHECK-NEXT: %[[K:.*]], %[[V:.*]] = gpt2.cache_append %[[QKV]] into %h.0.k, %h.0.v at %start count %count slot %slot batch 1
// CHECK-NEXT: %[[A:.*]] = gpt2.attention %[[QKV]] cache %[[K]], %[[V]] at %start slot %slot batch 1 heads 2 scale 0.176776692
// CHECK-NEXT: %[[P:.*]] = gpt2.linear %[[A]], %h.0.attn.c_proj.weight, %h.0.attn.c_proj.bias {f32_result}
// CHECK-NEXT: %[[X1:.*]] = gpt2.add %[[X]], %[[P]]
// CHECK-NEXT: %[[Y1:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm %[[X1]], %h.0.ln_2.weight, %h.0.ln_2.bias
// CHECK-NEXT: %[[H:.*]] = gpt2.linear %[[Y1]], %h.0.mlp.c_fc.weight, %h.0.mlp.c_fc.bias
// CHECK-NEXT: %[[G:.*]] = gpt2.activation gelu_tanh %[[H]]
// CHECK-NEXT: %[[M:.*]] = gpt2.linear %[[G]], %h.0.mlp.c_proj.weight, %h.0.mlp.c_proj.bias {f32_result}
// CHECK-NEXT: %[[X2:.*]] = gpt2.add %[[X1]], %[[M]]
// CHECK-NEXT: gpt2.layer_norm %[[X2]], %h.1.ln_1.weight
// Behind the last attention one row is left.
// CHECK: %[[A1:.*]] = gpt2.attention {{.*}} -> tensor<8x64xf32>
// CHECK-NEXT: %[[LA:.*]] = gpt2.select_row %[[A1]] at %count : tensor<8x64xf32> -> tensor<1x64xf32>
// CHECK-NEXT: %[[LX:.*]] = gpt2.select_row %[[X2]] at %count : tensor<8x64xf32> -> tensor<1x64xf32>
// CHECK-NEXT: %[[P1:.*]] = gpt2.linear %[[LA]], %h.1.attn.c_proj.weight
// CHECK-NEXT: %[[X3:.*]] = gpt2.add %[[LX]], %[[P1]] : tensor<1x64xf32>
// CHECK: %[[X4:.*]] = gpt2.add %[[X3]], %{{.*}} : tensor<1x64xf32>
// CHECK-NEXT: %[[N:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm %[[X4]], %ln_f.weight, %ln_f.bias
// CHECK-NEXT: %[[LOGITS:.*]] = gpt2.linear %[[N]], %wte.weight {f32_result}
// CHECK-NEXT: %[[T:.*]], %[[POS:.*]] = gpt2.sample %[[LOGITS]], %sampling into %tokens, %positions at %start count %count slot %slot vocab 257 positions_limit 32
// CHECK-NEXT: gpt2.write @h.0.k, %[[K]]
// CHECK-NEXT: gpt2.write @h.0.v, %[[V]]
// CHECK: gpt2.write @logits, %[[LOGITS]] : tensor<1x384xf32>
// CHECK-NEXT: gpt2.write @tokens, %[[T]] : tensor<3xi32>
// CHECK-NEXT: gpt2.write @positions, %[[POS]] : tensor<3xi32>
// CHECK-NEXT: return

// CHECK: func.func @decode_b1() attributes {gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>}
// CHECK: func.func @decode_b2() attributes {gpt2.program = #gpt2.program<role = decode, batch = 2, tokens = 1>}
// Decode reads the first rows of the slots.
// CHECK: gpt2.read @tokens : tensor<2xi32>
// CHECK: gpt2.read @positions : tensor<2xi32>
// CHECK: gpt2.read @h.0.k : tensor<2x2x32x32xf32>
// CHECK: gpt2.read @sampling : tensor<2x8xi32>
// CHECK: gpt2.embed %tokens, %wte.weight, %wpe.weight at %positions batch 2
// CHECK: gpt2.cache_append %{{.*}} into %h.0.k, %h.0.v at %positions batch 2
// CHECK-NOT: gpt2.select_row
// CHECK: gpt2.sample %{{.*}}, %sampling into %tokens, %positions at %positions vocab 257
// CHECK: gpt2.write @logits, %{{.*}} : tensor<2x384xf32>
// CHECK: func.func @decode_b3() attributes {gpt2.program = #gpt2.program<role = decode, batch = 3, tokens = 1>}
// CHECK-NOT: func.func

// DEFAULTS: positions = 64
// DEFAULTS: @prompt : tensor<64xi32>
// DEFAULTS: func.func @decode_b1
// DEFAULTS: func.func @decode_b2
// DEFAULTS: func.func @decode_b4
// DEFAULTS-NOT: func.func

// BUCKETS: func.func @decode_b1
// BUCKETS-NOT: func.func @decode_b2
// BUCKETS: func.func @decode_b4

// GPT2: name = "gpt2", padded_vocab = 50304 : i64, parameters = 124439808 : i64, positions = 1024 : i64, vocab = 50257
// GPT2: @prompt : tensor<256xi32>
