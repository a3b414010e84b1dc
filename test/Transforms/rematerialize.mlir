// rematerialize on one layer: what is kept, what is computed again and where.
// RUN: gpt2-opt %s --fuse -o %t.fused
// RUN: gpt2-opt %t.fused --rematerialize | diff - %t.fused
// RUN: gpt2-opt %t.fused --rematerialize=mode=block --verify-roundtrip | FileCheck %s --check-prefix=BLOCK
// RUN: gpt2-opt %t.fused "--rematerialize=mode=auto budget=48128" | FileCheck %s --check-prefix=AUTO
// RUN: gpt2-opt %t.fused "--rematerialize=mode=auto budget=62464" | diff - %t.fused
// RUN: gpt2-opt %t.fused --rematerialize --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=ALL
// RUN: gpt2-opt %t.fused --rematerialize=mode=block --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=FEW
// RUN: gpt2-opt %t.fused "--rematerialize=mode=auto budget=62463" --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=SLIGHT
// RUN: gpt2-opt %t.fused "--rematerialize=mode=auto budget=33792" --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=LEAST
// RUN: not gpt2-opt %t.fused "--rematerialize=mode=auto budget=33791" 2>&1 | FileCheck %s --check-prefix=TIGHT
// RUN: echo '{"ops": {"linear Rx16xf32 64x16xf32 -> f32": [[32, 1000]], "linear Rx16xf32 48x16xf32 -> f32": [[128, 6000], [8, 1000]]}}' > %t.json
// RUN: gpt2-opt %t.fused "--rematerialize=mode=auto budget=52224 cost-table=%t.json" | FileCheck %s --check-prefix=TABLE
// RUN: gpt2-opt %t.fused "--rematerialize=cost-table=%t.json" --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=MEASURED
// RUN: echo '{"ops": {"linear Rx16xf32 64x16xf32 -> f32": [[8, 1000]], "linear Rx16xf32 48x16xf32 -> f32": [[128, 8000]]}}' > %t.beyond.json
// RUN: gpt2-opt %t.fused "--rematerialize=cost-table=%t.beyond.json" --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=BEYOND
// RUN: echo '{"matmul_flops_per_second": 1000, "row_bytes_per_second": 1e9, "ops": {}}' > %t.rates.json
// RUN: gpt2-opt %t.fused "--rematerialize=cost-table=%t.rates.json" --remarks-filter=rematerialize -o /dev/null 2>&1 | FileCheck %s --check-prefix=RATES

// Rows of 16 columns are 2048 bytes. A layer hands y1, att, x1, y2 (2048 each),
// qkv (6144), h and a (8192 each) to its backward half, besides its statistics
// (4 * 128, and 256 of lse) and x2.
// ALL: rematerialized | {{.*}} kept-bytes=33536, layers=1, measured-ops=0, ops=0, peak-bytes=62464, program-us={{[0-9]+}}, unmeasured-ops={{[1-9][0-9]*}}, values=0, work-added-bp=0
// FEW: rematerialized | {{.*}} kept-bytes=2816, layers=1, measured-ops=0, ops=7, {{.*}} values=7,
// One byte less than all need: one norm is the cheapest to do without.
// SLIGHT: rematerialized | {{.*}} kept-bytes=31488, layers=1, measured-ops=0, ops=1, {{.*}} values=1,
// LEAST: peak-bytes=33792
// TIGHT: error: 'accumulate' does not fit 33791 bytes of activations; the least that rematerialization reaches is 33792

// Between two measured numbers of rows times lie on a line: the linears take
// 1000 and 1000 + 5000 * (32 - 8) / (128 - 8) microseconds, the rest some
// nanoseconds by its traffic. Beyond them they grow with the rows: 4000 + 2000.
// MEASURED: measured-ops=2, {{.*}} program-us=3000, unmeasured-ops={{[1-9]}}
// BEYOND: measured-ops=2, {{.*}} program-us=6000, unmeasured-ops={{[1-9]}}
// What is not in the table goes by its rates: 1253888 operations, 1000 a second.
// RATES: measured-ops=0, {{.*}} program-us=1253888000,

// BLOCK: %[[X0:.*]]:4 = gpt2.fused row
// BLOCK: %[[QKV:.*]] = gpt2.linear %[[X0]]#1, %qkv
// BLOCK: %[[ATT:.*]], %[[LSE:.*]] = gpt2.attention %[[QKV]]
// BLOCK: %[[P:.*]] = gpt2.linear
// BLOCK: %[[X1:.*]]:4 = gpt2.fused row
// BLOCK: %[[X2:.*]]:4 = gpt2.fused row
// BLOCK: gpt2.cross_entropy_grad
// BLOCK: gpt2.input_grad
// The layer's result is kept, and so are the statistics of every norm.
// BLOCK-NEXT: %[[DX2:.*]], %{{.*}}, %{{.*}} = gpt2.layer_norm_grad %{{.*}}, %[[X2]]#0, %g, %[[X2]]#2, %[[X2]]#3
// BLOCK-NEXT: %[[Y1:.*]] = gpt2.normalize %[[X0]]#0, %[[X0]]#2, %[[X0]]#3, %g, %b
// BLOCK-NEXT: %[[QKV2:.*]] = gpt2.linear %[[Y1]], %qkv
// BLOCK-NEXT: %[[ATT2:.*]], %{{.*}} = gpt2.attention %[[QKV2]] batch 2
// BLOCK-NEXT: %[[P2:.*]] = gpt2.linear %[[ATT2]], %proj {f32_result
// Of the region, only what is missing.
// BLOCK-NEXT: %[[X1B:.*]]:2 = gpt2.fused row (%[[A:.*]] = %[[X0]]#0 : tensor<32x16xf32>, %[[B:.*]] = %[[P2]] : tensor<32x16xf32>, %[[G:.*]] = %g : tensor<16xf32>, %[[E:.*]] = %b : tensor<16xf32>, %[[M:.*]] = %[[X1]]#2 : tensor<32x1xf32>, %[[R:.*]] = %[[X1]]#3 : tensor<32x1xf32>)
// BLOCK-NEXT: %[[S:.*]] = gpt2.add %[[A]], %[[B]]
// BLOCK-NEXT: %[[N:.*]] = gpt2.normalize %[[S]], %[[M]], %[[R]], %[[G]], %[[E]]
// BLOCK-NEXT: gpt2.yield %[[S]], %[[N]]
// BLOCK-NEXT: }
// BLOCK-NEXT: %[[H:.*]] = gpt2.linear %[[X1B]]#1, %fc
// BLOCK-NEXT: %[[ACT:.*]] = gpt2.activation gelu_tanh %[[H]]
// BLOCK-NEXT: gpt2.weight_grad %[[DX2]], %[[ACT]] into %out.grad
// BLOCK: gpt2.activation_grad gelu_tanh %{{.*}}, %[[H]]
// BLOCK-NEXT: gpt2.weight_grad %{{.*}}, %[[X1B]]#1 into %fc.grad
// BLOCK: gpt2.attention_grad %[[QKV2]], %[[ATT2]], %[[LSE]],
// BLOCK-NEXT: gpt2.weight_grad %{{.*}}, %[[Y1]] into %qkv.grad

// With linears to h and qkv that are measured to be slow, those stay.
// TABLE: gpt2.cross_entropy_grad
// TABLE: gpt2.layer_norm_grad
// TABLE-NEXT: %[[ACT:.*]] = gpt2.activation
// TABLE-NEXT: gpt2.weight_grad %{{.*}}, %[[ACT]] into %out.grad
// TABLE-NOT: gpt2.linear

// Where linears cost what maps do, h and qkv give the most bytes for the time.
// AUTO: gpt2.attention
// AUTO: %[[X1:.*]]:4 = gpt2.fused row
// AUTO: %[[ACT:.*]] = gpt2.activation
// AUTO: gpt2.layer_norm_grad
// AUTO-NEXT: gpt2.weight_grad %{{.*}}, %[[ACT]] into %out.grad
// AUTO: gpt2.input_grad
// AUTO-NEXT: %[[H:.*]] = gpt2.linear %[[X1]]#1, %fc
// AUTO-NEXT: gpt2.activation_grad gelu_tanh %{{.*}}, %[[H]]
// AUTO: %[[Q:.*]] = gpt2.linear %{{.*}}, %qkv
// AUTO-NEXT: gpt2.attention_grad %[[Q]],

gpt2.global state @tokens : tensor<32xi32>
gpt2.global state @order : tensor<32xi32>
gpt2.global state @targets : tensor<32xi32>
gpt2.global state @losses : tensor<32xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
gpt2.global parameter @wte : tensor<128x16xf32> names ["wte"]
gpt2.global parameter @wpe : tensor<16x16xf32> names ["wpe"]
gpt2.global parameter @g : tensor<16xf32> names ["g"]
gpt2.global parameter @b : tensor<16xf32> names ["b"]
gpt2.global parameter @qkv : tensor<48x16xf32> names ["qkv"]
gpt2.global parameter @proj : tensor<16x16xf32> names ["proj"]
gpt2.global parameter @fc : tensor<64x16xf32> names ["fc"]
gpt2.global parameter @out : tensor<16x64xf32> names ["out"]
gpt2.global gradient @wte.grad : tensor<128x16xf32>
gpt2.global gradient @wpe.grad : tensor<16x16xf32>
gpt2.global gradient @qkv.grad : tensor<48x16xf32>
gpt2.global gradient @proj.grad : tensor<16x16xf32>
gpt2.global gradient @fc.grad : tensor<64x16xf32>
gpt2.global gradient @out.grad : tensor<16x64xf32>

func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 2, tokens = 16>} {
  %tokens = gpt2.read @tokens : tensor<32xi32>
  %order = gpt2.read @order : tensor<32xi32>
  %targets = gpt2.read @targets : tensor<32xi32>
  %params = gpt2.read @step_params : tensor<16xf32>
  %state = gpt2.read @train_state : tensor<8xf32>
  %wte = gpt2.read @wte : tensor<128x16xf32>
  %wpe = gpt2.read @wpe : tensor<16x16xf32>
  %g = gpt2.read @g : tensor<16xf32>
  %b = gpt2.read @b : tensor<16xf32>
  %wqkv = gpt2.read @qkv : tensor<48x16xf32>
  %wproj = gpt2.read @proj : tensor<16x16xf32>
  %wfc = gpt2.read @fc : tensor<64x16xf32>
  %wout = gpt2.read @out : tensor<16x64xf32>
  %dwte = gpt2.read @wte.grad : tensor<128x16xf32>
  %dwpe = gpt2.read @wpe.grad : tensor<16x16xf32>
  %dqkv = gpt2.read @qkv.grad : tensor<48x16xf32>
  %dproj = gpt2.read @proj.grad : tensor<16x16xf32>
  %dfc = gpt2.read @fc.grad : tensor<64x16xf32>
  %dout = gpt2.read @out.grad : tensor<16x64xf32>

  %x0 = gpt2.embed %tokens, %wte, %wpe batch 2 : tensor<32xi32>, tensor<128x16xf32>, tensor<16x16xf32> -> tensor<32x16xf32>
  %y1, %mean1, %rstd1 = gpt2.layer_norm %x0, %g, %b epsilon 1.0e-05 {gpt2.layer = 0 : i64} : (tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<32x16xf32>, tensor<32x1xf32>, tensor<32x1xf32>)
  %q = gpt2.linear %y1, %wqkv {gpt2.layer = 0 : i64} : (tensor<32x16xf32>, tensor<48x16xf32>) -> tensor<32x48xf32>
  %att, %lse = gpt2.attention %q batch 2 heads 2 scale 3.535534e-01 {gpt2.layer = 0 : i64} : tensor<32x48xf32> -> tensor<32x16xf32>, tensor<32x2xf32>
  %p = gpt2.linear %att, %wproj {f32_result, gpt2.layer = 0 : i64} : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %x1 = gpt2.add %x0, %p {gpt2.layer = 0 : i64} : tensor<32x16xf32>
  %y2, %mean2, %rstd2 = gpt2.layer_norm %x1, %g, %b epsilon 1.0e-05 {gpt2.layer = 0 : i64} : (tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<32x16xf32>, tensor<32x1xf32>, tensor<32x1xf32>)
  %h = gpt2.linear %y2, %wfc {gpt2.layer = 0 : i64} : (tensor<32x16xf32>, tensor<64x16xf32>) -> tensor<32x64xf32>
  %a = gpt2.activation gelu_tanh %h {gpt2.layer = 0 : i64} : tensor<32x64xf32>
  %o = gpt2.linear %a, %wout {f32_result, gpt2.layer = 0 : i64} : (tensor<32x64xf32>, tensor<16x64xf32>) -> tensor<32x16xf32>
  %x2 = gpt2.add %x1, %o {gpt2.layer = 0 : i64} : tensor<32x16xf32>
  %y3, %mean3, %rstd3 = gpt2.layer_norm %x2, %g, %b epsilon 1.0e-05 : (tensor<32x16xf32>, tensor<16xf32>, tensor<16xf32>) -> (tensor<32x16xf32>, tensor<32x1xf32>, tensor<32x1xf32>)
  %logits = gpt2.linear %y3, %wte : (tensor<32x16xf32>, tensor<128x16xf32>) -> tensor<32x128xf32>

  %losses, %total, %dlogits = gpt2.cross_entropy_grad %logits, %targets, %params, %state vocab 100 : tensor<32x128xf32>, tensor<32xi32> -> tensor<32xf32>, tensor<1x4xf32>
  gpt2.write @losses, %losses : tensor<32xf32>
  %dwte1 = gpt2.weight_grad %dlogits, %y3 into %dwte : tensor<32x128xf32>, tensor<32x16xf32>, tensor<128x16xf32>
  %dy3 = gpt2.input_grad %dlogits, %wte : (tensor<32x128xf32>, tensor<128x16xf32>) -> tensor<32x16xf32>
  %dx2, %dg3, %db3 = gpt2.layer_norm_grad %dy3, %x2, %g, %mean3, %rstd3 : (tensor<32x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> (tensor<32x16xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  %dout1 = gpt2.weight_grad %dx2, %a into %dout : tensor<32x16xf32>, tensor<32x64xf32>, tensor<16x64xf32>
  gpt2.write @out.grad, %dout1 : tensor<16x64xf32>
  %da = gpt2.input_grad %dx2, %wout : (tensor<32x16xf32>, tensor<16x64xf32>) -> tensor<32x64xf32>
  %dh = gpt2.activation_grad gelu_tanh %da, %h : tensor<32x64xf32>
  %dfc1 = gpt2.weight_grad %dh, %y2 into %dfc : tensor<32x64xf32>, tensor<32x16xf32>, tensor<64x16xf32>
  gpt2.write @fc.grad, %dfc1 : tensor<64x16xf32>
  %dy2 = gpt2.input_grad %dh, %wfc : (tensor<32x64xf32>, tensor<64x16xf32>) -> tensor<32x16xf32>
  %dn2, %dg2, %db2 = gpt2.layer_norm_grad %dy2, %x1, %g, %mean2, %rstd2 : (tensor<32x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> (tensor<32x16xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  %dx1 = gpt2.add %dx2, %dn2 : tensor<32x16xf32>
  %dproj1 = gpt2.weight_grad %dx1, %att into %dproj : tensor<32x16xf32>, tensor<32x16xf32>, tensor<16x16xf32>
  gpt2.write @proj.grad, %dproj1 : tensor<16x16xf32>
  %datt = gpt2.input_grad %dx1, %wproj : (tensor<32x16xf32>, tensor<16x16xf32>) -> tensor<32x16xf32>
  %dq = gpt2.attention_grad %q, %att, %lse, %datt batch 2 heads 2 scale 3.535534e-01 : tensor<32x48xf32>, tensor<32x16xf32>, tensor<32x2xf32>
  %dqkv1 = gpt2.weight_grad %dq, %y1 into %dqkv : tensor<32x48xf32>, tensor<32x16xf32>, tensor<48x16xf32>
  gpt2.write @qkv.grad, %dqkv1 : tensor<48x16xf32>
  %dy1 = gpt2.input_grad %dq, %wqkv : (tensor<32x48xf32>, tensor<48x16xf32>) -> tensor<32x16xf32>
  %dn1, %dg1, %db1 = gpt2.layer_norm_grad %dy1, %x0, %g, %mean1, %rstd1 : (tensor<32x16xf32>, tensor<32x16xf32>, tensor<16xf32>, tensor<32x1xf32>, tensor<32x1xf32>) -> (tensor<32x16xf32>, tensor<16x4xf32>, tensor<16x4xf32>)
  %dx0 = gpt2.add %dx1, %dn1 : tensor<32x16xf32>
  %dwte2, %dwpe1 = gpt2.embed_grad %dx0, %tokens order %order into %dwte1, %dwpe batch 2 : tensor<32x16xf32>, tensor<32xi32>, tensor<128x16xf32>, tensor<16x16xf32>
  gpt2.write @wte.grad, %dwte2 : tensor<128x16xf32>
  gpt2.write @wpe.grad, %dwpe1 : tensor<16x16xf32>
  return
}
