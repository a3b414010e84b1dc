// What becomes of a whole training module.
// RUN: gpt2-opt %s --test-import-model="model=distilgpt2 train=true seq=16" --build-training --mixed-precision=precision=bf16 --canonicalize --cse --fuse=matvec-rows=8 --remarks-filter=fuse -o %t 2>&1 | FileCheck %s
module {}

// Six layers: each has both norms' regions forward and backward.
// CHECK: Function=accumulate | Remark="row region of embed dropout layer_norm cast"
// CHECK: Function=accumulate | Remark="row region of dropout add layer_norm cast"
// CHECK: Function=accumulate | Remark="row region of layer_norm_grad dropout cast column_sum"
// CHECK: Function=accumulate | Remark="row region of activation_grad column_sum"
// CHECK: Function=accumulate | Remark="row region of layer_norm_grad add dropout cast column_sum"
// CHECK: Function=accumulate | Remark="row region of layer_norm_grad add dropout"
// CHECK: Function=accumulate | epilogue-ops=0, matvec-regions=0, ops-fused=126, prologue-ops=0, row-regions=32

// The sums of squares are added up by a few kernels.
// CHECK: Function=update | Remark="'gpt2.column_finish' would make it 17 inputs, so it is not fused with 'gpt2.column_finish'"
// CHECK: Function=update | Remark="row region of column_finish column_finish
// CHECK: Function=update | epilogue-ops=0, matvec-regions=0, ops-fused=76, prologue-ops=0, row-regions=5
