// The ops of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_OPS_TD
#define GPT2_OPS_TD

include "dialects/GPT2/GPT2TrainingOps.td"
include "dialects/GPT2/GPT2Types.td"

//===----------------------------------------------------------------------===//
// State
//===----------------------------------------------------------------------===//

def GPT2_GlobalOp : GPT2_Op<"global", [Symbol, HasParent<"ModuleOp">]> {
  let summary = "a parameter, its gradient or moments, a cache or a slot";
  let description = [{
    `names` are the checkpoint names of a parameter, first found wins. The
    tensor in the file has the shape `source` (default: the global's own,
    reversed under `transpose`); `init` transposes it if asked and pads it with
    zeros to the global's shape.

    ```mlir
    gpt2.global parameter @wte : tensor<50304x768xf32>
        names ["wte.weight"] source [50257, 768]
    gpt2.global parameter @h0.fc : tensor<3072x768xf32>
        names ["h.0.mlp.c_fc.weight"] transpose
    gpt2.global state @tokens : tensor<4xi32>
    ```
  }];
  let arguments = (ins
    SymbolNameAttr:$sym_name,
    TypeAttrOf<GPT2_AnyStatic>:$type,
    GPT2_GlobalKindAttr:$kind,
    OptionalAttr<StrArrayAttr>:$names,
    OptionalAttr<DenseI64ArrayAttr>:$source,
    UnitAttr:$transpose
  );
  let assemblyFormat = [{
    `` $kind $sym_name `:` $type (`names` $names^)? (`source` $source^)?
    (`transpose` $transpose^)? attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::RankedTensorType getTensorType() {
      return ::llvm::cast<::mlir::RankedTensorType>(getType());
    }
    /// Shape of the tensor in the checkpoint.
    ::llvm::SmallVector<int64_t> getSourceShape();
  }];
}

def GPT2_ReadOp : GPT2_Op<"read", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>,
    MemoryEffects<[MemRead]>]> {
  let summary = "reads a global, or a prefix of its rows";
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs GPT2_AnyStatic:$result);
  let assemblyFormat = "$global attr-dict `:` type($result)";
}

def GPT2_WriteOp : GPT2_Op<"write", [
    DeclareOpInterfaceMethods<SymbolUserOpInterface>,
    MemoryEffects<[MemWrite]>]> {
  let summary = "writes a global, or a prefix of its rows";
  let arguments = (ins FlatSymbolRefAttr:$global, GPT2_AnyStatic:$value);
  let assemblyFormat = "$global `,` $value attr-dict `:` type($value)";
  let hasCanonicalizer = 1;
}

//===----------------------------------------------------------------------===//
// Row ops
//===----------------------------------------------------------------------===//

def GPT2_EmbedOp : GPT2_ComputeOp<"embed",
    [GPT2_Decomposes, GPT2_Differentiates], ["isStorageOperand"],
    ["getBytesRead"]> {
  let summary = "token plus position embedding";
  let description = [{
    Row (b, t) of `batch` sequences is wte[tokens[row]] + wpe[position], with
    position = min(starts[b] + t, S - 1), and t where there are no `starts`.
    Token ids are clamped to the table. `starts` needs one sequence or one
    token a sequence: prefill and decode, while evaluation starts at 0.
  }];
  let arguments = (ins
    GPT2_IntVector:$tokens, GPT2_Matrix:$wte, GPT2_Matrix:$wpe,
    Optional<GPT2_IntVector>:$starts, GPT2_Count:$batch
  );
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    $tokens `,` $wte `,` $wpe (`at` $starts^)? `batch` $batch attr-dict
    `:` type($tokens) `,` type($wte) `,` type($wpe) (`,` type($starts)^)?
    `->` type($result)
  }];
}

def GPT2_LayerNormOp : GPT2_ComputeOp<"layer_norm",
    [GPT2_Decomposes, GPT2_Differentiates,
     DeclareOpInterfaceMethods<RecomputeOpInterface, ["recompute"]>],
    ["isStorageOperand", "isF32Result"]> {
  let summary = "layer normalization, with its row statistics";
  let description = [{
    y = (x - mean) * rstd * gamma + beta, in f32 with one rounding at the end;
    mean and variance are two passes over the row.
  }];
  let arguments = (ins
    GPT2_Matrix:$x, GPT2_Vector:$gamma, GPT2_Vector:$beta, F32Attr:$epsilon
  );
  let results = (outs
    GPT2_Matrix:$y, GPT2_F32Matrix:$mean, GPT2_F32Matrix:$rstd
  );
  let assemblyFormat = [{
    $x `,` $gamma `,` $beta `epsilon` $epsilon attr-dict
    `:` functional-type(operands, results)
  }];
}

def GPT2_ActivationOp : GPT2_ComputeOp<"activation",
    [SameOperandsAndResultType, GPT2_Elementwise, GPT2_Differentiates]> {
  let summary = "an activation function";
  let arguments = (ins GPT2_ActivationKindAttr:$kind, GPT2_Matrix:$x);
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = "`` $kind $x attr-dict `:` type($x)";
  let hasVerifier = 0;
}

def GPT2_AddOp : GPT2_ComputeOp<"add",
    [Commutative, SameOperandsAndResultType, GPT2_Elementwise,
     GPT2_Differentiates]> {
  let summary = "elementwise sum";
  let arguments = (ins GPT2_Matrix:$lhs, GPT2_Matrix:$rhs);
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` type($lhs)";
  let hasVerifier = 0;
}

// Not a precision op: its types are what it is for.
def GPT2_CastOp : GPT2_Op<"cast", [
    Pure, GPT2_Elementwise, GPT2_Differentiates,
    DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "rounds or widens to another float type";
  let arguments = (ins GPT2_Matrix:$x);
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `to` type($result)";
  let hasFolder = 1;
  let hasVerifier = 1;
}

def GPT2_SelectRowOp : GPT2_ComputeOp<"select_row", [GPT2_Decomposes], [],
    ["getBytesRead"]> {
  let summary = "the last valid row";
  let description = "Row count - 1, clamped to the matrix, as [1, C].";
  let arguments = (ins GPT2_Matrix:$x, GPT2_OneInt:$count);
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    $x `at` $count attr-dict `:` type($x) `->` type($result)
  }];
  let hasFolder = 1;
}

def GPT2_CrossEntropyOp : GPT2_ComputeOp<"cross_entropy",
    [GPT2_Decomposes,
     DeclareOpInterfaceMethods<DifferentiableOpInterface, ["getLoss"]>],
    ["isStorageOperand"]> {
  let summary = "-log softmax(logits)[target] of each row";
  let description = [{
    Columns from `vocab` on are padding and take no part. A row whose target is
    not in [0, vocab) is not scored: its loss is 0. With `first`, the rows are
    those of a chunk, and row i has target first + i.
  }];
  let arguments = (ins
    GPT2_Matrix:$logits, GPT2_IntVector:$targets, GPT2_Count:$vocab,
    OptionalAttr<I64Attr>:$first
  );
  let results = (outs GPT2_F32Vector:$losses);
  let assemblyFormat = [{
    $logits `,` $targets (`from` $first^)? `vocab` $vocab attr-dict
    `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Matrix products, attention, sampling
//===----------------------------------------------------------------------===//

def GPT2_LinearOp : GPT2_ComputeOp<"linear", [GPT2_Differentiates],
    ["isStorageOperand", "isF32Result"]> {
  let summary = "x * transpose(weight) + bias";
  let description = [{
    The sum is f32 and the bias is added before the one rounding. `f32_result`
    says that the result is not rounded at all: `mixed-precision` leaves it f32.
  }];
  let arguments = (ins
    GPT2_Matrix:$x, GPT2_Matrix:$weight, Optional<GPT2_Vector>:$bias,
    UnitAttr:$f32_result
  );
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

def GPT2_CacheAppendOp : GPT2_ComputeOp<"cache_append",
    [AttrSizedOperandSegments, AllTypesMatch<["k", "kResult"]>,
     AllTypesMatch<["v", "vResult"]>],
    ["isStorageOperand"], ["getBytesRead", "getBytesWritten"]> {
  let summary = "stores the K and V parts of qkv rows into the caches";
  let description = [{
    Row (b, t) goes to cache row slot + b (slot 0 where absent), position
    starts[b] + t, for t < count (all tokens where absent). Destination
    passing: the results take the place of `k` and `v`.
  }];
  let arguments = (ins
    GPT2_Matrix:$qkv, GPT2_KVCache:$k, GPT2_KVCache:$v,
    GPT2_IntVector:$starts, Optional<GPT2_OneInt>:$count,
    Optional<GPT2_OneInt>:$slot, GPT2_Count:$batch
  );
  let results = (outs GPT2_KVCache:$kResult, GPT2_KVCache:$vResult);
  let assemblyFormat = [{
    $qkv `into` $k `,` $v `at` $starts (`count` $count^)? (`slot` $slot^)?
    `batch` $batch attr-dict
    `:` type($qkv) `,` type($k) `,` type($v) `,` type($starts)
  }];
  let extraClassDeclaration = [{
    int64_t getHeads() { return getK().getType().getDimSize(1); }
    int64_t getHeadSize() { return getK().getType().getDimSize(3); }
    int64_t getTokens() {
      return getQkv().getType().getDimSize(0) / getBatch();
    }
  }];
}

def GPT2_AttentionOp : GPT2_ComputeOp<"attention",
    [AttrSizedOperandSegments, GPT2_Differentiates,
     DeclareOpInterfaceMethods<RecomputeOpInterface>],
    ["isStorageOperand", "isF32Result"]> {
  let summary = "causal multi-head attention";
  let description = [{
    Rows are (b, t). With caches, row (b, t) stands at position starts[b] + t
    and sees cache row slot + b up to itself; without, it sees rows 0..t of its
    own sequence. Scores are scaled by `scale`; products and softmax are f32,
    which is also what HF's `reorder_and_upcast_attn` asks for.

    `lse`, which training keeps, is the natural logarithm of the sum of the
    exponentials of a row's scaled scores, [R, heads]. With `rng`, the softmax's
    weights are dropped with probability `dropout`: the hash is gpt2.dropout's,
    over (sample, query position, head, key position).
  }];
  let arguments = (ins
    GPT2_Matrix:$qkv, Optional<GPT2_KVCache>:$k, Optional<GPT2_KVCache>:$v,
    Optional<GPT2_IntVector>:$starts, Optional<GPT2_OneInt>:$slot,
    Optional<GPT2_Rng>:$rng, GPT2_Count:$batch, GPT2_Count:$heads,
    F32Attr:$scale, OptionalAttr<F32Attr>:$dropout,
    OptionalAttr<I32Attr>:$dropout_id
  );
  let results = (outs GPT2_Matrix:$result, Optional<GPT2_F32Matrix>:$lse);
  let assemblyFormat = [{
    $qkv (`cache` $k^ `,` $v `at` $starts)? (`slot` $slot^)?
    (`rng` $rng^ `dropout` $dropout `id` $dropout_id)?
    `batch` $batch `heads` $heads `scale` $scale attr-dict
    `:` type($qkv) (`,` type($k)^ `,` type($v) `,` type($starts))?
    `->` type($result) (`,` type($lse)^)?
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    int64_t getHeadSize() {
      return getResult().getType().getDimSize(1) / getHeads();
    }
    int64_t getTokens() {
      return getQkv().getType().getDimSize(0) / getBatch();
    }
  }];
}

def GPT2_SampleOp : GPT2_ComputeOp<"sample",
    [AttrSizedOperandSegments, AllTypesMatch<["tokens", "tokensResult"]>,
     AllTypesMatch<["positions", "positionsResult"]>], [],
    ["getBytesWritten"]> {
  let summary = "draws the next token of each row";
  let description = [{
    Row b belongs to slot + b. tokens[slot + b] becomes the drawn token and
    positions[slot + b] = min(starts[b] + advance, positions_limit - 1), where
    advance is count[0], or 1 where `count` is absent. Destination passing. The
    algorithm is spelled out in runtime/Device/SamplingParams.h.
  }];
  let arguments = (ins
    GPT2_F32Matrix:$logits, GPT2_IntMatrix:$sampling, GPT2_IntVector:$tokens,
    GPT2_IntVector:$positions, GPT2_IntVector:$starts,
    Optional<GPT2_OneInt>:$count, Optional<GPT2_OneInt>:$slot,
    GPT2_Count:$vocab, GPT2_Count:$positions_limit
  );
  let results = (outs
    GPT2_IntVector:$tokensResult, GPT2_IntVector:$positionsResult
  );
  let assemblyFormat = [{
    $logits `,` $sampling `into` $tokens `,` $positions `at` $starts
    (`count` $count^)? (`slot` $slot^)?
    `vocab` $vocab `positions_limit` $positions_limit attr-dict
    `:` type($logits) `,` type($sampling) `,` type($tokens) `,`
    type($positions) `,` type($starts)
  }];
}

//===----------------------------------------------------------------------===//
// Fused regions
//===----------------------------------------------------------------------===//

def GPT2_FusedOp : GPT2_Op<"fused", [
    Pure, IsolatedFromAbove, SingleBlockImplicitTerminator<"YieldOp">,
    DeclareOpInterfaceMethods<CostOpInterface>]> {
  let summary = "ops that become one kernel";
  let description = [{
    - `row`: decomposable ops over one row count;
    - `matvec`: one `linear`; ops that lead to its x (the prologue) are
      decomposable, ops that follow it (the epilogue) are elementwise, none
      reads a table, and only epilogue values and the linear's result leave the
      region.

    ```mlir
    %r, %n = gpt2.fused row (%a = %x : tensor<4x8xf32>, ...)
        -> (tensor<4x8xf32>, tensor<4x8xbf16>) { ... gpt2.yield ... }
    ```
  }];
  let arguments = (ins
    GPT2_FusedKindAttr:$kind, Variadic<GPT2_AnyStatic>:$inputs
  );
  let results = (outs Variadic<GPT2_AnyStatic>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The value that the region yields for a result.
    ::mlir::Value getYielded(unsigned result) {
      return getBody().front().getTerminator()->getOperand(result);
    }
  }];
}

def GPT2_YieldOp : GPT2_Op<"yield",
    [Pure, Terminator, ParentOneOf<["FusedOp"]>]> {
  let summary = "ends a fused region";
  let arguments = (ins Variadic<GPT2_AnyStatic>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
  let builders = [OpBuilder<(ins), [{ (void)$_state; }]>];
}

#endif // GPT2_OPS_TD
