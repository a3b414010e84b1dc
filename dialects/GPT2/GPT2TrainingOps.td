// The ops of the gpt2 dialect that training alone needs.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_TRAINING_OPS_TD
#define GPT2_TRAINING_OPS_TD

include "dialects/GPT2/GPT2Types.td"

// Column results are partial sums [C, B] over B blocks of the rows: see
// DecomposeOpInterface::isColumnResult. `gpt2.column_finish` adds them up.

//===----------------------------------------------------------------------===//
// Forward
//===----------------------------------------------------------------------===//

def GPT2_DropoutKeysOp : GPT2_ComputeOp<"dropout_keys", [GPT2_Decomposes]> {
  let summary = "hashes a step's random state with the number of each dropout";
  let description = [{
    A program's first launch, so that dropouts which differ in their number only
    share a kernel. In 32-bit unsigned arithmetic, with `rng` = [seed low, seed
    high, step, first sample]:

        mix(x): x ^= x >> 16; x *= 0x7feb352d; x ^= x >> 15;
                x *= 0x846ca68b; x ^= x >> 16
        key = mix(mix(mix(seed_low + 0x9e3779b9 * id) ^ seed_high) ^ step)

    mix is "lowbias32" of C. Wellons' hash prospector.

    ```mlir
    %0, %1 = gpt2.dropout_keys %rng ids [0, 2] : tensor<1xi32>, tensor<1xi32>
    ```
  }];
  let arguments = (ins GPT2_Rng:$rng, DenseI32ArrayAttr:$ids);
  let results = (outs Variadic<GPT2_OneInt>:$keys);
  let assemblyFormat = "$rng `ids` $ids attr-dict `:` type($keys)";
}

def GPT2_DropoutOp : GPT2_ComputeOp<"dropout",
    [AllTypesMatch<["x", "result"]>, GPT2_Decomposes, GPT2_Differentiates]> {
  let summary = "zeroes elements at random and scales the others";
  let description = [{
    An element is kept where its hash is at least probability * 2^32, and is
    then multiplied by 1 / (1 - probability). The op is its own gradient. With
    `key` and `mix` of gpt2.dropout_keys and T = rows / batch:

        hash = mix(mix(mix(key ^ sample) ^ position) ^ column)
        sample = rng[3] + row / T, position = row % T
  }];
  let arguments = (ins
    GPT2_Matrix:$x, GPT2_Rng:$rng, GPT2_OneInt:$key, F32Attr:$probability,
    GPT2_Count:$batch
  );
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    $x `,` $rng `,` $key `probability` $probability `batch` $batch attr-dict
    `:` type($x)
  }];
  let hasFolder = 1;
}

def GPT2_SliceRowsOp : GPT2_ComputeOp<"slice_rows", [GPT2_Decomposes], [],
    ["getBytesRead"]> {
  let summary = "some rows of a matrix, from row `first` on";
  let arguments = (ins
    GPT2_Matrix:$x, ConfinedAttr<I64Attr, [IntNonNegative]>:$first
  );
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    $x `from` $first attr-dict `:` type($x) `->` type($result)
  }];
}

def GPT2_ConcatRowsOp : GPT2_ComputeOp<"concat_rows", [GPT2_Decomposes]> {
  let summary = "the rows of a, then those of b; or the elements of vectors";
  let arguments = (ins GPT2_VectorOrMatrix:$a, GPT2_VectorOrMatrix:$b);
  let results = (outs GPT2_VectorOrMatrix:$result);
  let assemblyFormat = [{
    $a `,` $b attr-dict `:` functional-type(operands, results)
  }];
}

def GPT2_NormalizeOp : GPT2_ComputeOp<"normalize", [GPT2_Decomposes],
    ["isStorageOperand"]> {
  let summary = "gpt2.layer_norm with row statistics that are known already";
  let description = [{
    y = (x - mean) * rstd * gamma + beta in the arithmetic of gpt2.layer_norm:
    what `rematerialize` computes a norm's result with.
  }];
  let arguments = (ins
    GPT2_Matrix:$x, GPT2_F32Matrix:$mean, GPT2_F32Matrix:$rstd,
    GPT2_Vector:$gamma, GPT2_Vector:$beta
  );
  let results = (outs GPT2_Matrix:$y);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

def GPT2_AttentionGradOp : GPT2_ComputeOp<"attention_grad",
    [AllTypesMatch<["qkv", "dqkv"]>, AllTypesMatch<["out", "dout"]>],
    ["isStorageOperand"]> {
  let summary = "the gradient of gpt2.attention without caches";
  let description = [{
    `out` and `lse` are what the forward op computed; `rng`, `dropout` and
    `dropout_id` are the forward op's.
  }];
  let arguments = (ins
    GPT2_Matrix:$qkv, GPT2_Matrix:$out, GPT2_F32Matrix:$lse, GPT2_Matrix:$dout,
    Optional<GPT2_Rng>:$rng, GPT2_Count:$batch, GPT2_Count:$heads,
    F32Attr:$scale, OptionalAttr<F32Attr>:$dropout,
    OptionalAttr<I32Attr>:$dropout_id
  );
  let results = (outs GPT2_Matrix:$dqkv);
  let assemblyFormat = [{
    $qkv `,` $out `,` $lse `,` $dout
    (`rng` $rng^ `dropout` $dropout `id` $dropout_id)?
    `batch` $batch `heads` $heads `scale` $scale attr-dict
    `:` type($qkv) `,` type($out) `,` type($lse)
  }];
  let hasCanonicalizer = 1;
  let extraClassDeclaration = [{
    int64_t getHeadSize() {
      return getOut().getType().getDimSize(1) / getHeads();
    }
    int64_t getTokens() {
      return getQkv().getType().getDimSize(0) / getBatch();
    }
  }];
}

def GPT2_LayerNormGradOp : GPT2_ComputeOp<"layer_norm_grad",
    [GPT2_SumsColumns], ["isStorageOperand"]> {
  let summary = "the gradient of gpt2.layer_norm";
  let description = [{
    With n = (x - mean) * rstd and g = dy * gamma, row by row:
    dx = (g - avg(g) - n * avg(g * n)) * rstd; dgamma and dbeta are the column
    results of dy * n and dy.
  }];
  let arguments = (ins
    GPT2_Matrix:$dy, GPT2_Matrix:$x, GPT2_Vector:$gamma, GPT2_F32Matrix:$mean,
    GPT2_F32Matrix:$rstd
  );
  let results = (outs
    GPT2_F32Matrix:$dx, GPT2_F32Matrix:$dgamma, GPT2_F32Matrix:$dbeta
  );
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

def GPT2_InputGradOp : GPT2_ComputeOp<"input_grad", [], ["isStorageOperand"]> {
  let summary = "dy * weight: the gradient of gpt2.linear's x";
  let arguments = (ins GPT2_Matrix:$dy, GPT2_Matrix:$weight);
  let results = (outs GPT2_Matrix:$dx);
  let assemblyFormat = [{
    operands attr-dict `:` functional-type(operands, results)
  }];
}

def GPT2_WeightGradOp : GPT2_ComputeOp<"weight_grad",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>],
    ["isStorageOperand", "getTypeSource"]> {
  let summary = "acc + transpose(dy) * x: adds gpt2.linear's weight gradient";
  let description = [{
    Destination passing: the result takes acc's place. Without acc it is the
    product alone, in the type of dy.
  }];
  let arguments = (ins
    GPT2_Matrix:$dy, GPT2_Matrix:$x, Optional<GPT2_F32Matrix>:$acc
  );
  let results = (outs GPT2_Matrix:$result);
  let assemblyFormat = [{
    $dy `,` $x (`into` $acc^)? attr-dict
    `:` type($dy) `,` type($x) (`,` type($acc)^)?
  }];
}

def GPT2_ColumnSumOp : GPT2_ComputeOp<"column_sum",
    [GPT2_SumsColumns], ["isStorageOperand"]> {
  let summary = "sums of the columns, as partials of row blocks";
  let description = "A vector is one column.";
  let arguments = (ins GPT2_VectorOrMatrix:$x);
  let results = (outs GPT2_F32Matrix:$partials);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($partials)";
}

def GPT2_ColumnFinishOp : GPT2_ComputeOp<"column_finish",
    [DeclareOpInterfaceMethods<InferTypeOpInterface>, GPT2_Decomposes]> {
  let summary = "acc plus the sum of a column result's partials";
  let description = [{
    A row is a column of the matrix that was summed. Destination passing: the
    result takes acc's place. Without acc it is the sum alone.
  }];
  let arguments = (ins
    GPT2_F32Matrix:$partials, Optional<GPT2_F32Vector>:$acc
  );
  let results = (outs GPT2_F32Vector:$result);
  let assemblyFormat = [{
    $partials (`into` $acc^)? attr-dict
    `:` type($partials) (`,` type($acc)^)?
  }];
}

def GPT2_ActivationGradOp : GPT2_ComputeOp<"activation_grad",
    [SameOperandsAndResultType, GPT2_Elementwise]> {
  let summary = "dy times the derivative of an activation function at x";
  let description = "x is the rounded value that gpt2.activation read.";
  let arguments = (ins
    GPT2_ActivationKindAttr:$kind, GPT2_Matrix:$dy, GPT2_Matrix:$x
  );
  let results = (outs GPT2_Matrix:$dx);
  let assemblyFormat = "`` $kind $dy `,` $x attr-dict `:` type($x)";
  let hasVerifier = 0;
}

def GPT2_CrossEntropyGradOp : GPT2_ComputeOp<"cross_entropy_grad",
    [AllTypesMatch<["logits", "dlogits"]>, GPT2_SumsColumns],
    ["isStorageOperand", "getTypeSource"]> {
  let summary = "gpt2.cross_entropy with its gradient";
  let description = [{
    dlogits = (softmax(logits) - onehot(target)) * step_params[1] *
    train_state[0]: the inverse of the number of scored tokens and the loss
    scale. It is 0 on rows that are not scored and in padded columns, and takes
    the place of `logits`. `total` is the column result of `losses`. `first` is
    gpt2.cross_entropy's.
  }];
  let arguments = (ins
    GPT2_Matrix:$logits, GPT2_IntVector:$targets, GPT2_StepParams:$step_params,
    GPT2_TrainState:$train_state, GPT2_Count:$vocab,
    OptionalAttr<I64Attr>:$first
  );
  let results = (outs
    GPT2_F32Vector:$losses, GPT2_F32Matrix:$total, GPT2_Matrix:$dlogits
  );
  let assemblyFormat = [{
    $logits `,` $targets `,` $step_params `,` $train_state (`from` $first^)?
    `vocab` $vocab attr-dict `:` type($logits) `,` type($targets)
    `->` type($losses) `,` type($total)
  }];
}

def GPT2_EmbedGradOp : GPT2_ComputeOp<"embed_grad",
    [AllTypesMatch<["tokens", "order"]>,
     AllTypesMatch<["dwte", "dwteResult"]>,
     AllTypesMatch<["dwpe", "dwpeResult"]>],
    ["isStorageOperand", "getTypeSource"],
    ["getBytesRead", "getBytesWritten"]> {
  let summary = "adds the gradient of gpt2.embed's tables";
  let description = [{
    `order` lists the rows stably sorted by their token: dwte[token] gains its
    rows' dx in that order. dwpe[t] gains dx of (b, t) for b = 0, 1, ...
    Destination passing.
  }];
  let arguments = (ins
    GPT2_F32Matrix:$dx, GPT2_IntVector:$tokens, GPT2_IntVector:$order,
    GPT2_F32Matrix:$dwte, GPT2_F32Matrix:$dwpe, GPT2_Count:$batch
  );
  let results = (outs GPT2_F32Matrix:$dwteResult, GPT2_F32Matrix:$dwpeResult);
  let assemblyFormat = [{
    $dx `,` $tokens `order` $order `into` $dwte `,` $dwpe `batch` $batch
    attr-dict `:` type($dx) `,` type($tokens) `,` type($dwte) `,` type($dwpe)
  }];
}

//===----------------------------------------------------------------------===//
// Update
//===----------------------------------------------------------------------===//

def GPT2_SquareSumOp : GPT2_ComputeOp<"square_sum", [GPT2_SumsColumns]> {
  let summary = "the sum of squares of a gradient, as partials of row blocks";
  let description = "Elements are first divided by the loss scale.";
  let arguments = (ins
    GPT2_F32VectorOrMatrix:$gradient, GPT2_TrainState:$train_state
  );
  let results = (outs GPT2_F32Matrix:$partials);
  let assemblyFormat = [{
    $gradient `,` $train_state attr-dict
    `:` type($gradient) `->` type($partials)
  }];
}

def GPT2_StepStateOp : GPT2_ComputeOp<"step_state",
    [AllTypesMatch<["train_state", "result"]>, GPT2_Decomposes]> {
  let summary = "decides what a step does: skip, clip factor, loss scale";
  let description = [{
    From the sum of squares of all unscaled gradients; train_state is [loss
    scale, finite steps since it changed, skipped?, norm, gradient factor, 0,
    applied steps, skipped steps]:

    - a norm that is not finite, or above step_params[9] where that is not 0,
      skips the step;
    - the gradient factor is min(1, step_params[6] / (norm + 1e-6)) / loss
      scale, or 1 / loss scale where step_params[6] is 0;
    - under `dynamic`, a norm that is not finite halves the loss scale, and 2000
      applied steps in a row double it.
  }];
  let arguments = (ins
    GPT2_OneFloat:$norm_sq, GPT2_StepParams:$step_params,
    GPT2_TrainState:$train_state, UnitAttr:$dynamic
  );
  let results = (outs GPT2_TrainState:$result);
  let assemblyFormat = "$norm_sq `,` $step_params `,` $train_state attr-dict";
  let hasVerifier = 0;
}

def GPT2_AdamWOp : GPT2_ComputeOp<"adamw",
    [AllTypesMatch<["p", "m", "v", "g", "pResult", "mResult", "vResult",
                    "gResult"]>,
     GPT2_Decomposes]> {
  let summary = "one AdamW step of a parameter; its gradient becomes 0";
  let description = [{
    PyTorch's, with c = step_params and g' = g * train_state[4]:

        p *= 1 - c[0] * c[2]            (under `decay`)
        m = c[3] * m + c[10] * g'
        v = c[4] * v + c[11] * g' * g'
        p -= c[0] / c[7] * m / (sqrt(v) / c[8] + c[5])

    p, m and v stay as they are where train_state[2] says that the step is
    skipped. `low` is the result p in the type that the forward pass reads.
  }];
  let arguments = (ins
    GPT2_F32VectorOrMatrix:$p, GPT2_F32VectorOrMatrix:$m,
    GPT2_F32VectorOrMatrix:$v, GPT2_F32VectorOrMatrix:$g,
    GPT2_StepParams:$step_params, GPT2_TrainState:$train_state, UnitAttr:$decay
  );
  let results = (outs
    GPT2_F32VectorOrMatrix:$pResult, GPT2_F32VectorOrMatrix:$mResult,
    GPT2_F32VectorOrMatrix:$vResult, GPT2_F32VectorOrMatrix:$gResult,
    Optional<GPT2_VectorOrMatrix>:$low
  );
  let assemblyFormat = [{
    $p `,` $m `,` $v `,` $g `,` $step_params `,` $train_state attr-dict
    `:` type($p) (`->` type($low)^)?
  }];
}

#endif // GPT2_TRAINING_OPS_TD
