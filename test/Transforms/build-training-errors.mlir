// What build-training cannot differentiate gets one clear line.
// RUN: gpt2-opt %s --build-training --split-input-file --verify-diagnostics

// expected-error @+1 {{the module has no accumulate program to differentiate}}
module {}

// -----

// expected-error @+1 {{a training module needs the state 'order' of type 'tensor<4xi32>'}}
module {
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  return
}
}

// -----

// expected-error @+1 {{a training module needs the state 'train_state' of type 'tensor<8xf32>'}}
module {
gpt2.global state @order : tensor<4xi32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<7xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  return
}
}

// -----

gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
// expected-error @+1 {{program 'accumulate' has no loss: end it with gpt2.cross_entropy}}
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  return
}

// -----

gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  return
}
// expected-error @+1 {{'again' is a second accumulate program}}
func.func @again() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %y = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  // expected-error @+1 {{'gpt2.cross_entropy' op is a second loss: a program has one}}
  %more = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global state @logits : tensor<4x128xf32>
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %targets = gpt2.read @targets : tensor<4xi32>
  %logits = gpt2.read @logits : tensor<4x128xf32>
  // expected-error @+1 {{'gpt2.cross_entropy' op depends on no parameter, so there is nothing to train}}
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global state @count : tensor<1xi32>
gpt2.global state @inputs : tensor<1xi32>
gpt2.global state @targets : tensor<1xi32>
gpt2.global state @order : tensor<1xi32>
gpt2.global state @losses : tensor<1xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 1>} {
  %targets = gpt2.read @targets : tensor<1xi32>
  %count = gpt2.read @count : tensor<1xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  // expected-error @+1 {{'gpt2.select_row' op cannot be differentiated, and the loss depends on parameters through it}}
  %y = gpt2.select_row %w at %count : tensor<128x8xf32> -> tensor<1x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<1x8xf32>, tensor<128x8xf32>) -> tensor<1x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<1x128xf32>, tensor<1xi32>) -> tensor<1xf32>
  gpt2.write @losses, %losses : tensor<1xf32>
  return
}

// -----

gpt2.global parameter @bad : tensor<4x8xf32> names ["bad"]
gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  // expected-error @+1 {{'gpt2.read' op 'bad' is used like an activation, so it cannot be trained: only tables, weights, biases and the vectors of norms can}}
  %bad = gpt2.read @bad : tensor<4x8xf32>
  %x = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %y = gpt2.add %x, %bad : tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %x = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %v = gpt2.activation relu %w : tensor<128x8xf32>
  // expected-error @+1 {{'gpt2.linear' op operand 1 must be read straight from a parameter to have a gradient}}
  %logits = gpt2.linear %x, %v : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global state @positions : tensor<4xi32>
gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %starts = gpt2.read @positions : tensor<4xi32>
  // expected-error @+1 {{'gpt2.embed' op with starts cannot be differentiated: sequences of a training program start at 0}}
  %y = gpt2.embed %inputs, %w, %p at %starts batch 4 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32>, tensor<4xi32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  // expected-error @+1 {{'gpt2.embed' op with one table for tokens and positions cannot be differentiated}}
  %y = gpt2.embed %inputs, %w, %w batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<128x8xf32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @g : tensor<8xf32> names ["g"]
gpt2.global parameter @one : tensor<128x1xf32> names ["one"]
gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %g = gpt2.read @g : tensor<8xf32>
  %one = gpt2.read @one : tensor<128x1xf32>
  %x = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  // expected-error @+1 {{'gpt2.layer_norm' op cannot be differentiated where the loss depends on mean or rstd}}
  %n, %m, %r = gpt2.layer_norm %x, %g, %g epsilon 1.0e-5 : (tensor<4x8xf32>, tensor<8xf32>, tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<4x1xf32>)
  %logits = gpt2.linear %m, %one : (tensor<4x1xf32>, tensor<128x1xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @one : tensor<128x2xf32> names ["one"]
gpt2.global parameter @c : tensor<24x8xf32> names ["c"]
gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %one = gpt2.read @one : tensor<128x2xf32>
  %c = gpt2.read @c : tensor<24x8xf32>
  %x = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %qkv = gpt2.linear %x, %c : (tensor<4x8xf32>, tensor<24x8xf32>) -> tensor<4x24xf32>
  // expected-error @+1 {{'gpt2.attention' op cannot be differentiated where the loss depends on lse}}
  %a, %lse = gpt2.attention %qkv batch 1 heads 2 scale 0.5 : tensor<4x24xf32> -> tensor<4x8xf32>, tensor<4x2xf32>
  %logits = gpt2.linear %lse, %one : (tensor<4x2xf32>, tensor<128x2xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @c : tensor<24x8xf32> names ["c"]
gpt2.global cache @k : tensor<4x2x16x4xf32>
gpt2.global cache @v : tensor<4x2x16x4xf32>
gpt2.global state @positions : tensor<4xi32>
gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %starts = gpt2.read @positions : tensor<4xi32>
  %c = gpt2.read @c : tensor<24x8xf32>
  %k = gpt2.read @k : tensor<4x2x16x4xf32>
  %v = gpt2.read @v : tensor<4x2x16x4xf32>
  %x = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %qkv = gpt2.linear %x, %c : (tensor<4x8xf32>, tensor<24x8xf32>) -> tensor<4x24xf32>
  // expected-error @+1 {{'gpt2.attention' op over caches cannot be differentiated}}
  %y = gpt2.attention %qkv cache %k, %v at %starts batch 4 heads 2 scale 0.5 : tensor<4x24xf32>, tensor<4x2x16x4xf32>, tensor<4x2x16x4xf32>, tensor<4xi32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
// expected-error @+1 {{the symbol 'w.m' is taken: 'w' has training state of that name}}
gpt2.global state @w.m : tensor<4xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %y = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}

// -----

gpt2.global parameter @w : tensor<128x8xf32> names ["w"]
gpt2.global parameter @p : tensor<16x8xf32> names ["p"]
gpt2.global state @inputs : tensor<4xi32>
gpt2.global state @targets : tensor<4xi32>
gpt2.global state @order : tensor<4xi32>
gpt2.global state @losses : tensor<4xf32>
gpt2.global state @loss_sum : tensor<1xf32>
gpt2.global state @step_params : tensor<16xf32>
gpt2.global state @train_state : tensor<8xf32>
// expected-error @+1 {{the symbol 'update' is taken: a training module gets a program of that name}}
gpt2.global state @update : tensor<4xf32>
func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 1, tokens = 4>} {
  %inputs = gpt2.read @inputs : tensor<4xi32>
  %targets = gpt2.read @targets : tensor<4xi32>
  %w = gpt2.read @w : tensor<128x8xf32>
  %p = gpt2.read @p : tensor<16x8xf32>
  %y = gpt2.embed %inputs, %w, %p batch 1 : tensor<4xi32>, tensor<128x8xf32>, tensor<16x8xf32> -> tensor<4x8xf32>
  %logits = gpt2.linear %y, %w : (tensor<4x8xf32>, tensor<128x8xf32>) -> tensor<4x128xf32>
  %losses = gpt2.cross_entropy %logits, %targets vocab 100 : (tensor<4x128xf32>, tensor<4xi32>) -> tensor<4xf32>
  gpt2.write @losses, %losses : tensor<4xf32>
  return
}
