// Every key of config.json that changes the graph.
// RUN: gpt2-opt %s --test-import-model="model=%S/Inputs/untied/config.json" | FileCheck %s --check-prefix=UNTIED
// RUN: gpt2-opt %s --test-import-model="model=%S/Inputs/untied" | FileCheck %s --check-prefix=UNTIED
// RUN: gpt2-opt %s --test-import-model="model=%S/Inputs/inverse_scale" | FileCheck %s --check-prefix=INVERSE
// RUN: gpt2-opt %s --test-import-model="model=%S/Inputs/unscaled" | FileCheck %s --check-prefix=UNSCALED
module {}

// An untied head is a global of its own; the model is called by its folder.
// UNTIED: name = "untied"
// UNTIED: gpt2.global parameter @wte.weight : tensor<128x16xf32> names ["wte.weight"] source [100, 16]
// UNTIED: gpt2.global parameter @lm_head.weight : tensor<128x16xf32> names ["lm_head.weight"] source [100, 16]
// UNTIED: gpt2.embed %prompt, %wte.weight
// UNTIED: gpt2.linear %{{.*}}, %lm_head.weight {f32_result}

// Scores are divided by sqrt(4) and by the layer's number, from 1. The MLP has
// the width that n_inner says, and a vocabulary of 128 needs no padding.
// INVERSE: gpt2.global parameter @wte.weight : tensor<128x16xf32> names ["wte.weight", "lm_head.weight"]{{$}}
// INVERSE: @h.0.mlp.c_fc.weight : tensor<24x16xf32>
// INVERSE: epsilon 9.99999997E-7
// INVERSE: gpt2.attention {{.*}} heads 4 scale 5.000000e-01
// INVERSE: gpt2.activation gelu_erf
// INVERSE: gpt2.attention {{.*}} heads 4 scale 2.500000e-01

// UNSCALED: gpt2.attention {{.*}} scale 1.000000e+00
// UNSCALED: gpt2.activation silu
