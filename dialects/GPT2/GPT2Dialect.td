// The gpt2 dialect: GPT-2 as coarse ops over static tensors.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_DIALECT_TD
#define GPT2_DIALECT_TD

include "mlir/IR/OpBase.td"

def GPT2_Dialect : Dialect {
  let name = "gpt2";
  let cppNamespace = "::mlir::gpt2";
  let summary = "GPT-2 as coarse ops over static tensors";
  let description = [{
    A program is a `func.func` with no arguments or results and a
    `gpt2.program` attribute. Its state (parameters, KV caches, slots that the
    host sees) lives in `gpt2.global` symbols; it reads a global once and writes
    it once. Activations are rank 2: rows (batch * tokens) by columns.

    Discardable attributes:
    - `gpt2.program` on `func.func`: what the program is (`#gpt2.program`);
    - `gpt2.model` on the module: a dictionary with `name`, `vocab`,
      `padded_vocab`, `positions` (of a sequence in these programs), `width`,
      `layers`, `heads`, `inner`, `eos` (-1: none) and `parameters`, and where
      the model came from a config.json, `config_json`, its text; export writes
      them into the plan;
    - `gpt2.layer` (i64) on an op of an accumulate program's forward half: the
      layer that it belongs to;
    - `gpt2.max_accumulation` (i64) on the module: most micro-batches of a step,
      set by `lean-storage`;
    - `gpt2.precision` on the module: `fp32`, `tf32`, `fp16` or `bf16`, set by
      `mixed-precision`.
  }];
  let dependentDialects = ["::mlir::func::FuncDialect"];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
}

#endif // GPT2_DIALECT_TD
