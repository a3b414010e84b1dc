// The forward halves of the training programs: slots, dropout and its numbers.
// RUN: gpt2-opt %s --test-import-model="model=tiny train=true batch=2 seq=16" | FileCheck %s
// RUN: gpt2-opt %s --test-import-model="model=tiny train=true dropout=0.25" | FileCheck %s --check-prefix=OVERRIDE
// RUN: gpt2-opt %s --test-import-model="model=tiny train=true dropout=0" | FileCheck %s --check-prefix=NONE
// RUN: gpt2-opt %s --test-import-model="model=tiny train=true batch=2 seq=16 seq-buckets=12,4" | FileCheck %s --check-prefix=LENGTHS
// RUN: gpt2-opt %s --test-import-model="model=gpt2 train=true seq=1000 halve-seq=true" | FileCheck %s --check-prefix=HALVES
// RUN: not gpt2-opt %s --test-import-model="model=tiny train=true seq=16 seq-buckets=16" 2>&1 | FileCheck %s --check-prefix=LONG
module {}

// CHECK: positions = 16
// CHECK-NOT: gpt2.global cache
// CHECK: gpt2.global parameter @ln_f.bias
// CHECK-NEXT: gpt2.global state @inputs : tensor<32xi32>
// CHECK-NEXT: gpt2.global state @targets : tensor<32xi32>
// CHECK-NEXT: gpt2.global state @order : tensor<32xi32>
// CHECK-NEXT: gpt2.global state @losses : tensor<32xf32>
// CHECK-NEXT: gpt2.global state @loss_sum : tensor<1xf32>
// CHECK-NEXT: gpt2.global state @step_params : tensor<16xf32>
// CHECK-NEXT: gpt2.global state @rng : tensor<4xi32>
// CHECK-NEXT: gpt2.global state @train_state : tensor<8xf32>
// CHECK-NEXT: gpt2.global state @tokens : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @positions : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @sampling : tensor<1x8xi32>
// CHECK-NEXT: gpt2.global state @start : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @count : tensor<1xi32>
// CHECK-NEXT: gpt2.global state @slot : tensor<1xi32>

// Embedding, then attention, its branch and the MLP's of each layer.
// CHECK-NEXT: func.func @accumulate() attributes {gpt2.program = #gpt2.program<role = accumulate, batch = 2, tokens = 16>}
// CHECK: %[[K:.*]]:5 = gpt2.dropout_keys %rng ids [0, 2, 3, 5, 6] : tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>, tensor<1xi32>
// CHECK-NEXT: %[[E:.*]] = gpt2.embed %inputs, %wte.weight, %wpe.weight batch 2 : tensor<32xi32>
// CHECK-NEXT: %[[D:.*]] = gpt2.dropout %[[E]], %rng, %[[K]]#0 probability 1.000000e-01 batch 2 : tensor<32x64xf32>
// CHECK-NEXT: gpt2.layer_norm %[[D]]
// CHECK: %[[A:.*]] = gpt2.attention %{{.*}} rng %rng dropout 1.000000e-01 id 1 batch 2 heads 2
// CHECK-NEXT: %[[P:.*]] = gpt2.linear %[[A]], %h.0.attn.c_proj.weight, %h.0.attn.c_proj.bias {f32_result, gpt2.layer = 0 : i64}
// CHECK-NEXT: %[[PD:.*]] = gpt2.dropout %[[P]], %rng, %[[K]]#1 probability 1.000000e-01 batch 2
// CHECK-NEXT: gpt2.add %[[D]], %[[PD]]
// CHECK: gpt2.linear {{.*}}, %h.0.mlp.c_proj.weight
// CHECK-NEXT: gpt2.dropout %{{.*}}, %rng, %[[K]]#2 probability 1.000000e-01 batch 2
// CHECK: gpt2.attention %{{.*}} dropout 1.000000e-01 id 4 {{.*}} {gpt2.layer = 1 : i64}
// CHECK: gpt2.dropout %{{.*}}, %rng, %[[K]]#3
// CHECK: gpt2.dropout %{{.*}}, %rng, %[[K]]#4
// CHECK: %[[LOGITS:.*]] = gpt2.linear {{.*}}, %wte.weight :
// CHECK-NEXT: %[[LOSSES:.*]] = gpt2.cross_entropy %[[LOGITS]], %targets vocab 257
// CHECK-NEXT: gpt2.write @losses, %[[LOSSES]]
// CHECK-NEXT: return

// CHECK: func.func @validate() attributes {gpt2.program = #gpt2.program<role = validate, batch = 2, tokens = 16>}
// CHECK-NOT: {{rng|gpt2.layer =}}
// CHECK: %[[LOGITS:.*]] = gpt2.linear {{.*}}, %wte.weight :
// CHECK-NEXT: %[[LOSSES:.*]] = gpt2.cross_entropy %[[LOGITS]], %targets vocab 257
// CHECK-NEXT: gpt2.write @losses, %[[LOSSES]]
// CHECK-NEXT: return

// One sequence without caches; behind the last layer's attention, one row.
// CHECK: func.func @sample() attributes {gpt2.program = #gpt2.program<role = sample, batch = 1, tokens = 16, count = @count>}
// CHECK-NEXT: %[[INPUTS:.*]] = gpt2.read @inputs : tensor<16xi32>
// CHECK-NOT: {{rng|gpt2.layer =|cache_append}}
// CHECK: gpt2.embed %[[INPUTS]], %wte.weight, %wpe.weight batch 1 : tensor<16xi32>
// CHECK: gpt2.attention %{{[^ ]*}} batch 1
// CHECK: %[[A:.*]] = gpt2.attention %{{[^ ]*}} batch 1
// CHECK-NEXT: %[[LAST:.*]] = gpt2.select_row %[[A]] at %count : tensor<16x64xf32>
// CHECK-NEXT: gpt2.select_row %{{.*}} at %count : tensor<16x64xf32>
// CHECK-NEXT: gpt2.linear %[[LAST]], %h.1.attn.c_proj.weight
// CHECK: %[[LOGITS:.*]] = gpt2.linear %{{.*}}, %wte.weight {f32_result} : {{.*}} -> tensor<1x384xf32>
// CHECK-NEXT: %[[T:.*]], %[[P:.*]] = gpt2.sample %[[LOGITS]], %sampling into %tokens, %positions at %start count %count slot %slot vocab 257 positions_limit 16
// CHECK-NEXT: gpt2.write @tokens, %[[T]]
// CHECK-NEXT: gpt2.write @positions, %[[P]]
// CHECK-NEXT: return
// CHECK-NOT: func.func

// One probability for all three, in the configuration too; all of the model's
// positions and one sequence where nothing else is said.
// OVERRIDE: \22attn_pdrop\22: 0.25,{{.*}}\22embd_pdrop\22: 0.25,{{.*}}\22resid_pdrop\22: 0.25,
// OVERRIDE: func.func @accumulate() attributes {gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 64>}
// OVERRIDE: gpt2.dropout %{{.*}} probability 2.500000e-01 batch 1
// OVERRIDE: gpt2.attention %{{.*}} dropout 2.500000e-01 id 1

// NONE: @accumulate
// NONE-NOT: rng
// NONE: return

// Shorter programs stand behind the others and read the first rows of slots.
// LENGTHS: gpt2.global state @inputs : tensor<32xi32>
// LENGTHS: @accumulate() {{.*}} tokens = 16>
// LENGTHS: @validate() {{.*}} tokens = 16>
// LENGTHS-NEXT: gpt2.read @inputs : tensor<32xi32>
// LENGTHS: @accumulate_t4() {{.*}}role = accumulate, batch = 2, tokens = 4>
// LENGTHS-NEXT: gpt2.read @inputs : tensor<8xi32>
// LENGTHS-NEXT: gpt2.read @targets : tensor<8xi32>
// LENGTHS: gpt2.dropout {{.*}} batch 2 : tensor<8x64xf32>
// LENGTHS: gpt2.write @losses, %{{.*}} : tensor<8xf32>
// LENGTHS: @validate_t4() {{.*}}role = validate, batch = 2, tokens = 4>
// LENGTHS: @accumulate_t12() {{.*}} tokens = 12>
// LENGTHS: @validate_t12() {{.*}} tokens = 12>
// LENGTHS-NOT: func.func

// Multiples of 16; a half of 62 tokens would be too short.
// HALVES: @accumulate_t128()
// HALVES: @accumulate_t256()
// HALVES: @accumulate_t512()
// HALVES-NOT: @accumulate

// LONG: error: --seq-buckets names 16, but a bucket must be at least 1 and less than --seq=16
