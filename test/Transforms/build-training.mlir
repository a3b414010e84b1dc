// What is differentiated, in which order, and what the update does.
// RUN: gpt2-opt %s --build-training | FileCheck %s
// RUN: gpt2-opt %s --build-training=row-blocks=4 | FileCheck %s --check-prefix=BLOCKS
// RUN: gpt2-opt %s --build-training --remarks-filter=build-training -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK
// RUN: not gpt2-opt %s --build-training=row-blocks=0 2>&1 | FileCheck %s --check-prefix=ZERO
// RUN: not gpt2-opt %s --build-training --build-training 2>&1 | FileCheck %s --check-prefix=TWICE
// RUN: not gpt2-opt %s --mixed-precision=precision=bf16 --build-training 2>&1 | FileCheck %s --check-prefix=LATE

// ZERO: error: row-blocks must be at least 1, not 0
// TWICE: error: {{.*}}the module has the update program 'update' already
// LATE: error: the module has the precision "bf16" already: run build-training before mixed-precision
// REMARK: [Missed] not-trained | Category:build-training | Remark="the loss does not depend on 'idle', so it has no gradient and no step changes it"
// REMARK: [Analysis] differentiated | Category:build-training | Function=accumulate | ops-added=45, parameters=9

gpt2.global parameter @wte : tensor<128x8xf32> names ["wte"]
gpt2.global parameter @g : tensor<8xf32> names ["g"]
gpt2.global parameter @b : tensor<8xf32> names ["b"]
gpt2.global parameter @wpe : tensor<16x8xf32> names ["wpe"]
gpt2.global parameter @c : tensor<24x8xf32> names ["c"]
gpt2.global parameter @cb : tensor<24xf32> names ["cb"]
gpt2.global parameter @p : tensor<8x8xf32> names ["p"]
gpt2.global parameter @pb : tensor<8xf32> names ["pb"]
gpt2.global parameter @f : tensor<8x8xf32> names ["f"]
gpt2.global parameter @idle : tensor<8xf32> names ["idle"]
gpt2.global state @inputs : tensor<12xi32>
gpt2.global state @targets : tensor<12xi32>
gpt2.global state @order : tensor<12xi32>
gpt2.global state @losses : tensor<12xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @rng : tensor<4xi32>
gpt2.global state @train_state : tensor<8xf32>

// Matrices first, gradients before moments.
// CHECK: gpt2.global state @train_state
// CHECK-NEXT: gpt2.global gradient @wte.grad : tensor<128x8xf32>
// CHECK-NEXT: gpt2.global gradient @wpe.grad : tensor<16x8xf32>
// CHECK-NEXT: gpt2.global gradient @c.grad : tensor<24x8xf32>
// CHECK-NEXT: gpt2.global gradient @p.grad : tensor<8x8xf32>
// CHECK-NEXT: gpt2.global gradient @f.grad : tensor<8x8xf32>
// CHECK-NEXT: gpt2.global gradient @g.grad : tensor<8xf32>
// CHECK-NEXT: gpt2.global gradient @b.grad : tensor<8xf32>
// CHECK-NEXT: gpt2.global gradient @cb.grad : tensor<24xf32>
// CHECK-NEXT: gpt2.global gradient @pb.grad : tensor<8xf32>
// CHECK-NEXT: gpt2.global moment @wte.m : tensor<128x8xf32>
// CHECK-NEXT: gpt2.global moment @wte.v : tensor<128x8xf32>
// CHECK-NEXT: gpt2.global moment @wpe.m
// CHECK: gpt2.global moment @pb.v : tensor<8xf32>
// CHECK-NEXT: func.func @accumulate

// CHECK: %[[E:.*]] = gpt2.embed %inputs, %wte, %wpe
// CHECK-NEXT: %[[D:.*]] = gpt2.dropout %[[E]], %rng, %[[KEY:.*]] probability 1.000000e-01
// CHECK-NEXT: %[[Y:.*]], %[[M:.*]], %[[R:.*]] = gpt2.layer_norm %[[D]], %g, %b
// CHECK-NEXT: %[[QKV:.*]] = gpt2.linear %[[Y]], %c, %cb
// The forward op gains the log-sum-exp and keeps its attributes.
// CHECK-NEXT: %[[A:.*]], %[[LSE:.*]] = gpt2.attention %[[QKV]] rng %rng dropout 1.000000e-01 id 1 batch 3 heads 2 scale 5.000000e-01 : tensor<12x24xf32> -> tensor<12x8xf32>, tensor<12x2xf32>
// CHECK-NEXT: %[[P:.*]] = gpt2.linear %[[A]], %p, %pb {f32_result}
// CHECK-NEXT: %[[X:.*]] = gpt2.add %[[D]], %[[P]]
// CHECK-NEXT: %[[F:.*]] = gpt2.linear %[[X]], %f :
// CHECK-NEXT: %[[H:.*]] = gpt2.activation gelu_tanh %[[F]]
// CHECK-NEXT: %[[Z:.*]] = gpt2.add %[[X]], %[[H]]
// CHECK-NEXT: %[[LOGITS:.*]] = gpt2.linear %[[Z]], %wte

// The loss becomes the op that has its gradient too.
// CHECK-NEXT: %[[LOSSES:.*]], %[[TOTAL:.*]], %[[DL:.*]] = gpt2.cross_entropy_grad %[[LOGITS]], %targets, %step_params, %train_state vocab 100 : tensor<12x128xf32>, tensor<12xi32> -> tensor<12xf32>, tensor<1x12xf32>
// BLOCKS: gpt2.cross_entropy_grad {{.*}} -> tensor<12xf32>, tensor<1x4xf32>
// CHECK-NEXT: %[[SUM:.*]] = gpt2.column_finish %[[TOTAL]] into %loss_sum
// CHECK-NEXT: %[[DWTE:.*]] = gpt2.weight_grad %[[DL]], %[[Z]] into %wte.grad
// CHECK-NEXT: %[[DZ:.*]] = gpt2.input_grad %[[DL]], %wte
// Both operands of a sum have its gradient.
// CHECK-NEXT: %[[DF:.*]] = gpt2.activation_grad gelu_tanh %[[DZ]], %[[F]]
// CHECK-NEXT: %[[DWF:.*]] = gpt2.weight_grad %[[DF]], %[[X]] into %f.grad
// CHECK-NEXT: %[[DXF:.*]] = gpt2.input_grad %[[DF]], %f
// CHECK-NEXT: %[[DX:.*]] = gpt2.add %[[DZ]], %[[DXF]]
// The bias comes first, then the weight, then what goes on.
// CHECK-NEXT: %[[PBS:.*]] = gpt2.column_sum %[[DX]] : tensor<12x8xf32> -> tensor<8x12xf32>
// CHECK-NEXT: %[[DPB:.*]] = gpt2.column_finish %[[PBS]] into %pb.grad
// CHECK-NEXT: %[[DP:.*]] = gpt2.weight_grad %[[DX]], %[[A]] into %p.grad
// CHECK-NEXT: %[[DA:.*]] = gpt2.input_grad %[[DX]], %p
// CHECK-NEXT: %[[DQKV:.*]] = gpt2.attention_grad %[[QKV]], %[[A]], %[[LSE]], %[[DA]] rng %rng dropout 1.000000e-01 id 1 batch 3 heads 2 scale 5.000000e-01 : tensor<12x24xf32>, tensor<12x8xf32>, tensor<12x2xf32>
// CHECK-NEXT: %[[CBS:.*]] = gpt2.column_sum %[[DQKV]]
// CHECK-NEXT: %[[DCB:.*]] = gpt2.column_finish %[[CBS]] into %cb.grad
// CHECK-NEXT: %[[DC:.*]] = gpt2.weight_grad %[[DQKV]], %[[Y]] into %c.grad
// CHECK-NEXT: %[[DY:.*]] = gpt2.input_grad %[[DQKV]], %c
// CHECK-NEXT: %[[DN:.*]], %[[GS:.*]], %[[BS:.*]] = gpt2.layer_norm_grad %[[DY]], %[[D]], %g, %[[M]], %[[R]]
// CHECK-NEXT: %[[DD:.*]] = gpt2.add %[[DX]], %[[DN]]
// CHECK-NEXT: %[[DG:.*]] = gpt2.column_finish %[[GS]] into %g.grad
// CHECK-NEXT: %[[DB:.*]] = gpt2.column_finish %[[BS]] into %b.grad
// CHECK-NEXT: %[[DE:.*]] = gpt2.dropout %[[DD]], %rng, %[[KEY]] probability 1.000000e-01 batch 3
// The tied table has one gradient, to which the embedding adds its part.
// CHECK-NEXT: %[[DWTE2:.*]], %[[DWPE:.*]] = gpt2.embed_grad %[[DE]], %inputs order %order into %[[DWTE]], %wpe.grad batch 3
// CHECK-NEXT: gpt2.write @losses, %[[LOSSES]]
// CHECK-NEXT: gpt2.write @loss_sum, %[[SUM]]
// CHECK-NEXT: gpt2.write @wte.grad, %[[DWTE2]]
// CHECK-NEXT: gpt2.write @wpe.grad, %[[DWPE]]
// CHECK-NEXT: gpt2.write @c.grad, %[[DC]]
// CHECK-NEXT: gpt2.write @p.grad, %[[DP]]
// CHECK-NEXT: gpt2.write @f.grad, %[[DWF]]
// CHECK-NEXT: gpt2.write @g.grad, %[[DG]]
// CHECK-NEXT: gpt2.write @b.grad, %[[DB]]
// CHECK-NEXT: gpt2.write @cb.grad, %[[DCB]]
// CHECK-NEXT: gpt2.write @pb.grad, %[[DPB]]
// CHECK-NEXT: return
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 3, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<12xi32>
  %targets = gpt2.read @targets : tensor<12xi32>
  %rng = gpt2.read @rng : tensor<4xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %g = gpt2.read @g : tensor<8xf32>
  %b = gpt2.read @b : tensor<8xf32>
  %c = gpt2.read @c : tensor<24x8xf32>
  %cb = gpt2.read @cb : tensor<24xf32>
  %p = gpt2.read @p : tensor<8x8xf32>
  %pb = gpt2.read @pb : tensor<8xf32>
  %f = gpt2.read @f : tensor<8x8xf32>
  %key = gpt2.dropout_keys %rng ids [0] : tensor<1xi32>
  %e = gpt2.embed %inputs, %wte, %wpe batch 3
      : tensor<12xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<12x8xf32>
  %d = gpt2.dropout %e, %rng, %key probability 0.1 batch 3 : tensor<12x8xf32>
  %y, %m, %r = gpt2.layer_norm %d, %g, %b epsilon 1.0e-5
      : (tensor<12x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<12x8xf32>, tensor<12x1xf32>, tensor<12x1xf32>)
  %qkv = gpt2.linear %y, %c, %cb : (tensor<12x8xf32>, tensor<24x8xf32>, tensor<24xf32>) -> tensor<12x24xf32>
  %a = gpt2.attention %qkv rng %rng dropout 0.1 id 1 batch 3 heads 2 scale 0.5
      : tensor<12x24xf32> -> tensor<12x8xf32>
  %branch = gpt2.linear %a, %p, %pb {f32_result} : (tensor<12x8xf32>, tensor<8x8xf32>, tensor<8xf32>) -> tensor<12x8xf32>
  %x = gpt2.add %d, %branch : tensor<12x8xf32>
  %pre = gpt2.linear %x, %f : (tensor<12x8xf32>, tensor<8x8xf32>) -> tensor<12x8xf32>
  %h = gpt2.activation gelu_tanh %pre : tensor<12x8xf32>
  %z = gpt2.add %x, %h : tensor<12x8xf32>
  %logits = gpt2.linear %z, %wte : (tensor<12x8xf32>, tensor<128x8xf32>) -> tensor<12x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<12x128xf32>, tensor<12xi32>) -> tensor<12xf32>
  gpt2.write @losses, %losses : tensor<12xf32>
  return
}

// The update: the norm in the order of the parameters, one decision, the steps.
// CHECK-LABEL: func.func @update() attributes {gpt2.program = #gpt2.program<role = update, batch = 1, tokens = 1>}
// CHECK: %step_params = gpt2.read @step_params
// CHECK-NEXT: %train_state = gpt2.read @train_state
// CHECK-NEXT: %wte = gpt2.read @wte :
// CHECK-NEXT: %wte.m = gpt2.read @wte.m :
// CHECK-NEXT: %wte.v = gpt2.read @wte.v :
// CHECK-NEXT: %wte.grad = gpt2.read @wte.grad :
// CHECK: %[[S0:.*]] = gpt2.square_sum %wte.grad, %train_state : tensor<128x8xf32> -> tensor<1x64xf32>
// CHECK-NEXT: %[[N0:.*]] = gpt2.column_finish %[[S0]] : tensor<1x64xf32>
// CHECK-NEXT: %[[S1:.*]] = gpt2.square_sum %wpe.grad, %train_state : tensor<16x8xf32> -> tensor<1x16xf32>
// CHECK-NEXT: %[[N1:.*]] = gpt2.column_finish %[[S1]] into %[[N0]]
// CHECK: %[[S8:.*]] = gpt2.square_sum %pb.grad
// CHECK-NEXT: %[[N8:.*]] = gpt2.column_finish %[[S8]] into
// CHECK-NEXT: %[[STATE:.*]] = gpt2.step_state %[[N8]], %step_params, %train_state{{$}}
// CHECK-NEXT: gpt2.write @train_state, %[[STATE]]
// CHECK-NEXT: %[[P0:.*]], %[[M0:.*]], %[[V0:.*]], %[[G0:.*]] = gpt2.adamw %wte, %wte.m, %wte.v, %wte.grad, %step_params, %[[STATE]] {decay} : tensor<128x8xf32>
// CHECK-NEXT: gpt2.write @wte, %[[P0]]
// CHECK-NEXT: gpt2.write @wte.m, %[[M0]]
// CHECK-NEXT: gpt2.write @wte.v, %[[V0]]
// CHECK-NEXT: gpt2.write @wte.grad, %[[G0]]
// CHECK: gpt2.adamw %pb, {{.*}}, %[[STATE]] : tensor<8xf32>
// CHECK-NOT: idle

// A validation adds its losses up and changes nothing else.
// CHECK-LABEL: func.func @validate
// CHECK: %[[VL:.*]] = gpt2.cross_entropy %{{.*}}, %targets
// CHECK-NEXT: %[[VS:.*]] = gpt2.column_sum %[[VL]] : tensor<12xf32> -> tensor<1x12xf32>
// CHECK-NEXT: %[[VT:.*]] = gpt2.column_finish %[[VS]] into %loss_sum
// CHECK-NEXT: gpt2.write @losses, %[[VL]]
// CHECK-NEXT: gpt2.write @loss_sum, %[[VT]]
// CHECK-NEXT: return
func.func @validate() attributes {
    gpt2.program = #gpt2.program<role = validate, batch = 3, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<12xi32>
  %targets = gpt2.read @targets : tensor<12xi32>
  %wte = gpt2.read @wte : tensor<128x8xf32>
  %wpe = gpt2.read @wpe : tensor<16x8xf32>
  %e = gpt2.embed %inputs, %wte, %wpe batch 3
      : tensor<12xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<12x8xf32>
  %logits = gpt2.linear %e, %wte : (tensor<12x8xf32>, tensor<128x8xf32>) -> tensor<12x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<12x128xf32>, tensor<12xi32>) -> tensor<12xf32>
  gpt2.write @losses, %losses : tensor<12xf32>
  return
}
