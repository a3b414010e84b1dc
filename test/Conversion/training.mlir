// Gradients, sums over columns and the optimizer's step as instructions.
// RUN: gpt2-opt %s --convert-gpt2-to-plan | FileCheck %s

// CHECK: plan.mode = "train"
module {
gpt2.global parameter @w : tensor<24x8xf32> names ["w"]
gpt2.global parameter @w.low : tensor<24x8xbf16> names ["w"]
gpt2.global parameter @b : tensor<24xf32> names ["b"]
gpt2.global gradient @w.grad : tensor<24x8xf32>
gpt2.global gradient @b.grad : tensor<24xf32>
gpt2.global gradient @wte.grad : tensor<128x8xf32>
gpt2.global gradient @wpe.grad : tensor<16x8xf32>
gpt2.global moment @w.m : tensor<24x8xf32>
gpt2.global moment @w.v : tensor<24x8xf32>
gpt2.global state @x : tensor<6x8xbf16>
gpt2.global state @dx : tensor<6x8xbf16>
gpt2.global state @inputs : tensor<6xi32>
gpt2.global state @order : tensor<6xi32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>

// Where blocks of rows end is part of the kernel.
// CHECK: plan.kernel @[[SUM:column_sum_2]] "row" config {row_blocks = 2 : i64, rows = 6 : i64} body {
// CHECK: plan.yield %{{.*}} : tensor<1x24xf32>
// CHECK: plan.kernel @[[FINISH:column_finish_1]] "row" body {

// CHECK-LABEL: plan.program init @init
// CHECK: plan.load_weight ["w"] {{.*}} : memref<24x8xf32>
// CHECK: plan.load_weight ["w"] {{.*}} : memref<24x8xbf16>
// CHECK: plan.load_weight ["b"]
// CHECK: %[[G:.*]] = plan.global_ref @w.grad
// CHECK: plan.fill %[[G]] with 0.0{{.*}} : memref<24x8xf32>
// CHECK-COUNT-5: plan.fill
// CHECK-NOT: plan.fill

// CHECK-LABEL: plan.program accumulate @accumulate batch 2 tokens 3 {
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 2, tokens = 3>} {
  %x = gpt2.read @x : tensor<6x8xbf16>
  %w = gpt2.read @w.low : tensor<24x8xbf16>
  %b = gpt2.read @b : tensor<24xf32>
  %rng = gpt2.read @rng : tensor<4xi32>
  // CHECK: plan.matmul %{{.*}} into %[[QKV:.*]] :
  %qkv = gpt2.linear %x, %w, %b
      : (tensor<6x8xbf16>, tensor<24x8xbf16>, tensor<24xf32>) -> tensor<6x24xbf16>
  // CHECK: plan.attention %[[QKV]] rng %{{.*}} : memref<4xi32> dropout 2.500000e-01 id 4 into %[[OUT:.*]] lse %[[LSE:.*]] : memref<6x2xf32> batch 2 tokens 3 heads 2 scale 5.000000e-01
  %a, %lse = gpt2.attention %qkv rng %rng dropout 0.25 id 4
      batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16> -> tensor<6x8xbf16>, tensor<6x2xf32>
  // CHECK: plan.attention_grad %[[QKV]], %[[OUT]], %[[LSE]], %[[OUT]] rng %{{.*}} : memref<4xi32> dropout 2.500000e-01 id 4 into %[[DQKV:.*]] batch 2 tokens 3 heads 2
  %dqkv = gpt2.attention_grad %qkv, %a, %lse, %a rng %rng dropout 0.25 id 4
      batch 2 heads 2 scale 0.5
      : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<6x2xf32>
  %acc = gpt2.read @w.grad : tensor<24x8xf32>
  // CHECK: %[[WG:.*]] = plan.global_ref @w.grad
  // CHECK: plan.matmul %[[DQKV]], %{{.*}} into %[[WG]] transpose_a weight_kn accumulate : memref<6x24xbf16>, memref<6x8xbf16> into memref<24x8xf32>
  %g = gpt2.weight_grad %dqkv, %x into %acc
      : tensor<6x24xbf16>, tensor<6x8xbf16>, tensor<24x8xf32>
  gpt2.write @w.grad, %g : tensor<24x8xf32>
  // Rows are blocks of rows; the sums of two blocks go to a buffer.
  // CHECK: plan.launch @[[SUM]] rows 2 ins(%[[DQKV]] : memref<6x24xbf16>) outs(%[[P:.*]] : memref<24x2xf32>)
  %p = gpt2.column_sum %dqkv : tensor<6x24xbf16> -> tensor<24x2xf32>
  %old = gpt2.read @b.grad : tensor<24xf32>
  // Written over what it adds to.
  // CHECK: %[[BG:.*]] = plan.global_ref @b.grad
  // CHECK: plan.launch @[[FINISH]] rows 24 ins(%[[P]], %[[BG]] : memref<24x2xf32>, memref<24xf32>) outs(%[[BG]] : memref<24xf32>)
  %new = gpt2.column_finish %p into %old : tensor<24x2xf32>, tensor<24xf32>
  gpt2.write @b.grad, %new : tensor<24xf32>
  // CHECK: %[[DX:.*]] = plan.global_ref @dx
  // CHECK: plan.matmul %[[DQKV]], %{{.*}} into %[[DX]] weight_kn : memref<6x24xbf16>, memref<24x8xbf16> into memref<6x8xbf16>
  %dx = gpt2.input_grad %dqkv, %w
      : (tensor<6x24xbf16>, tensor<24x8xbf16>) -> tensor<6x8xbf16>
  gpt2.write @dx, %dx : tensor<6x8xbf16>
  return
}

// A gradient that two ops add to stays where it is.
// CHECK-LABEL: plan.program accumulate @tied
func.func @tied() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 2, tokens = 3>} {
  %x = gpt2.read @x : tensor<6x8xbf16>
  %inputs = gpt2.read @inputs : tensor<6xi32>
  %order = gpt2.read @order : tensor<6xi32>
  %dwte = gpt2.read @wte.grad : tensor<128x8xf32>
  %dwpe = gpt2.read @wpe.grad : tensor<16x8xf32>
  %r = gpt2.cast %x : tensor<6x8xbf16> to tensor<6x8xf32>
  %logits = gpt2.linear %x, %x : (tensor<6x8xbf16>, tensor<6x8xbf16>) -> tensor<6x6xbf16>
  // CHECK-NOT: plan.copy
  // CHECK-DAG: %[[WTE:.*]] = plan.global_ref @wte.grad
  // CHECK-DAG: %[[WPE:.*]] = plan.global_ref @wpe.grad
  // CHECK: plan.embed_grad %{{.*}} tokens %{{.*}} order %{{.*}} into %[[WTE]], %[[WPE]] batch 2
  %d1, %p1 = gpt2.embed_grad %r, %inputs order %order into %dwte, %dwpe batch 2
      : tensor<6x8xf32>, tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>
  // CHECK: plan.embed_grad %{{.*}} into %[[WTE]], %[[WPE]] batch 2
  %d2, %p2 = gpt2.embed_grad %r, %inputs order %order into %d1, %p1 batch 2
      : tensor<6x8xf32>, tensor<6xi32>, tensor<128x8xf32>, tensor<16x8xf32>
  gpt2.write @wte.grad, %d2 : tensor<128x8xf32>
  gpt2.write @wpe.grad, %p2 : tensor<16x8xf32>
  return
}

// CHECK-LABEL: plan.program update @update
func.func @update() attributes {
    gpt2.program = #gpt2.program<role = update, batch = 1, tokens = 1>} {
  %p = gpt2.read @w : tensor<24x8xf32>
  %m = gpt2.read @w.m : tensor<24x8xf32>
  %v = gpt2.read @w.v : tensor<24x8xf32>
  %g = gpt2.read @w.grad : tensor<24x8xf32>
  %params = gpt2.read @step_params : tensor<16xf32>
  %state = gpt2.read @train_state : tensor<8xf32>
  %zero = gpt2.read @b.grad : tensor<24xf32>
  // CHECK-DAG: %[[P:.*]] = plan.global_ref @w :
  // CHECK-DAG: %[[M:.*]] = plan.global_ref @w.m
  // CHECK-DAG: %[[V:.*]] = plan.global_ref @w.v
  // CHECK-DAG: %[[G:.*]] = plan.global_ref @w.grad
  // CHECK-DAG: %[[STATE:.*]] = plan.global_ref @train_state
  // CHECK-DAG: %[[SUMS:.*]] = plan.alloc activation : memref<1x4xf32>
  // CHECK: plan.launch @square_sum_4 rows 4 ins(%[[G]], %[[STATE]] : memref<24x8xf32>, memref<8xf32>) outs(%[[SUMS]] : memref<1x4xf32>)
  %s = gpt2.square_sum %g, %state : tensor<24x8xf32> -> tensor<1x4xf32>
  %one = gpt2.read @norm : tensor<1xf32>
  %n = gpt2.column_finish %s into %one : tensor<1x4xf32>, tensor<1xf32>
  // The old state is a table, which every row may read: it is not written over.
  // CHECK: plan.launch @step_state_1 rows 8 ins({{.*}}) outs(%[[NEW:.*]] : memref<8xf32>)
  %new = gpt2.step_state %n, %params, %state
  // CHECK: %[[LOW:.*]] = plan.global_ref @w.low
  // CHECK: plan.launch @adamw_8 rows 24 ins(%[[P]], %[[M]], %[[V]], %[[G]], %{{.*}}, %[[NEW]] : {{.*}}) outs(%[[P]], %[[M]], %[[V]], %[[G]], %[[LOW]] : memref<24x8xf32>, memref<24x8xf32>, memref<24x8xf32>, memref<24x8xf32>, memref<24x8xbf16>)
  %p1, %m1, %v1, %g1, %low = gpt2.adamw %p, %m, %v, %g, %params, %new {decay}
      : tensor<24x8xf32> -> tensor<24x8xbf16>
  gpt2.write @w, %p1 : tensor<24x8xf32>
  gpt2.write @w.m, %m1 : tensor<24x8xf32>
  gpt2.write @w.v, %v1 : tensor<24x8xf32>
  gpt2.write @w.grad, %g1 : tensor<24x8xf32>
  gpt2.write @w.low, %low : tensor<24x8xbf16>
  // CHECK: plan.copy %[[NEW]] into %[[STATE]]
  gpt2.write @train_state, %new : tensor<8xf32>
  return
}
gpt2.global state @norm : tensor<1xf32>
}
