// What an op costs, at the first instruction that it becomes.
// RUN: gpt2-opt %s --convert-gpt2-to-plan=record-costs --verify-roundtrip | FileCheck %s
// RUN: gpt2-opt %s "--convert-gpt2-to-plan=target=cuda record-costs" --select-cuda-kernels | FileCheck %s --check-prefix=CUDA
// RUN: gpt2-opt %s --convert-gpt2-to-plan | FileCheck %s --check-prefix=NONE

// NONE-NOT: plan.cost

gpt2.global state @tokens : tensor<8xi32>
gpt2.global parameter @w : tensor<48x16xf32> names ["w"]
gpt2.global parameter @table : tensor<32x16xf32> names ["table"]
gpt2.global parameter @positions : tensor<4x16xf32> names ["positions"]
gpt2.global gradient @dw : tensor<48x16xf32>

func.func @accumulate() attributes {
    gpt2.program = #gpt2.program<role = accumulate, batch = 2, tokens = 4>} {
  %tokens = gpt2.read @tokens : tensor<8xi32>
  %w = gpt2.read @w : tensor<48x16xf32>
  %table = gpt2.read @table : tensor<32x16xf32>
  %positions = gpt2.read @positions : tensor<4x16xf32>
  %dw = gpt2.read @dw : tensor<48x16xf32>
  // Tokens count rows; a table that has as many does not.
  // CHECK: plan.launch {{.*}}plan.cost = {bytes = {{[0-9]+}} : i64, flops = 128 : i64, key = "embed Rxi32 32x16xf32 4x16xf32 -> f32 T=4", rows = 8 : i64}
  %x = gpt2.embed %tokens, %table, %positions batch 2 : tensor<8xi32>, tensor<32x16xf32>, tensor<4x16xf32> -> tensor<8x16xf32>
  // 2 * 8 * 48 * 16 operations; 4 * (8 * 16 + 48 * 16 + 8 * 48) bytes.
  // CHECK: plan.matmul {{.*}}plan.cost = {bytes = 5120 : i64, flops = 12288 : i64, key = "linear Rx16xf32 48x16xf32 -> f32", rows = 8 : i64}
  %qkv = gpt2.linear %x, %w : (tensor<8x16xf32>, tensor<48x16xf32>) -> tensor<8x48xf32>
  // CHECK: plan.attention {{.*}}key = "attention Rx48xf32 -> f32 f32 T=4 heads=2", rows = 8
  // CUDA: plan.launch @flash_forward {{.*}}key = "attention Rx48xf32 -> f32 f32 T=4 heads=2", rows = 8
  %out, %lse = gpt2.attention %qkv batch 2 heads 2 scale 3.535534e-01 : tensor<8x48xf32> -> tensor<8x16xf32>, tensor<8x2xf32>
  // CHECK: plan.attention_grad {{.*}}key = "attention_grad Rx48xf32 Rx16xf32 Rx2xf32 Rx16xf32 -> f32 T=4 heads=2", rows = 8
  // Of two launches the first one has it.
  // CUDA: plan.launch @flash_backward_query {{.*}}key = "attention_grad
  // CUDA-NOT: plan.cost
  // CUDA: plan.launch @flash_backward_key
  // CUDA-NOT: plan.cost
  // CUDA: plan.matmul
  %dqkv = gpt2.attention_grad %qkv, %out, %lse, %x batch 2 heads 2 scale 3.535534e-01 : tensor<8x48xf32>, tensor<8x16xf32>, tensor<8x2xf32>
  // CHECK: plan.matmul {{.*}}key = "weight_grad Rx48xf32 Rx16xf32 48x16xf32 -> f32", rows = 8
  %g = gpt2.weight_grad %dqkv, %x into %dw : tensor<8x48xf32>, tensor<8x16xf32>, tensor<48x16xf32>
  gpt2.write @dw, %g : tensor<48x16xf32>
  return
}
