//===- PlanOps.td - Operations of the plan dialect --------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//===----------------------------------------------------------------------===//
#ifndef GPT2_DIALECTS_PLAN_PLANOPS_TD
#define GPT2_DIALECTS_PLAN_PLANOPS_TD

include "dialects/Plan/PlanDialect.td"
include "dialects/Plan/PlanInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

// Instructions stand in programs and nowhere else.
class Plan_Instruction<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, traits # [HasParent<"ProgramOp">,
        DeclareOpInterfaceMethods<InstructionOpInterface>]>;

def Plan_Buffer : StaticShapeMemRefOf<[F32, F16, BF16, I32, I8]>;

def ReadBuffer : Arg<Plan_Buffer, "", [MemRead]>;
def WriteBuffer : Arg<Plan_Buffer, "", [MemWrite]>;
def UpdateBuffer : Arg<Plan_Buffer, "", [MemRead, MemWrite]>;
def OptionalReadBuffer : Arg<Optional<Plan_Buffer>, "", [MemRead]>;
def OptionalWriteBuffer : Arg<Optional<Plan_Buffer>, "", [MemWrite]>;
// What a library or kernel scribbles on; it never reads what it did not write.
def Scratch : Arg<Optional<Plan_Buffer>, "", [MemWrite]>;

//===----------------------------------------------------------------------===//
// Module level
//===----------------------------------------------------------------------===//

def Plan_GlobalOp : Plan_Op<"global", [Symbol, HasParent<"ModuleOp">]> {
  let summary = "Memory that lives as long as the plan";
  let description = [{
    Parameters lie in the weights arena, caches in the cache arena,
    host-visible slots in the state arena, gradients and moments in the arenas
    of their own; `offset` is set by `plan-memory`.
    A parameter's names are tried in order in the checkpoint.

    ```mlir
    plan.global parameter @wte : memref<50304x768xbf16> names ["wte.weight"]
    ```
  }];
  let arguments = (ins Plan_GlobalKindAttr:$kind, SymbolNameAttr:$sym_name,
                       TypeAttrOf<Plan_Buffer>:$type,
                       OptionalAttr<StrArrayAttr>:$names, UnitAttr:$transpose,
                       OptionalAttr<I64Attr>:$offset);
  let assemblyFormat = [{
    $kind $sym_name `:` $type (`names` $names^)? (`transpose` $transpose^)?
    (`offset` $offset^)? attr-dict
  }];
  let extraClassDeclaration = [{
    MemRefType getMemRefType() { return cast<MemRefType>(getType()); }
    ArenaKind getArenaKind();
  }];
  let hasVerifier = 1;
}

def Plan_ArenaOp : Plan_Op<"arena", [HasParent<"ModuleOp">]> {
  let summary = "One allocation of the running plan";
  let description = [{
    ```mlir
    plan.arena activations bytes 1048576 alignment 256
    ```
  }];
  let arguments = (ins Plan_ArenaKindAttr:$kind, I64Attr:$bytes,
                       I64Attr:$alignment);
  let assemblyFormat = [{
    $kind `bytes` $bytes `alignment` $alignment attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_KernelOp : Plan_Op<"kernel", [Symbol, HasParent<"ModuleOp">,
                                       IsolatedFromAbove, SingleBlock]> {
  let summary = "Code that launches share";
  let description = [{
    `row` kernels have a `body` in the normal form of DESIGN.md. Its block
    arguments are the number of rows (`index`) and the inputs; it yields the
    outputs:

      * `tensor<?xC>`: a value a row and column;
      * `tensor<?x1>`: one a row;  `tensor<1xC>`: one a column;
      * `tensor<1x1>`: one;
      * `tensor<VxC>`: a table, read only through `tensor.extract`.

    Where it yields a `tensor<1xC>`, sums over rows, `config` holds `rows` R and
    `row_blocks` B: block i of B is the rows from R * i / B on, and the output
    is `CxB`, the sums of each block.

    `matvec` kernels compute `epilogue(prologue(x) * W^T)`. `body` is the
    prologue: it yields x, `tensor<?xK>`. `epilogue` takes the number of rows,
    the f32 accumulators `tensor<?xN>` and its own inputs, and yields the
    outputs. `config` holds `weight`, the type `tensor<NxKxT>` of W, and `rows`,
    the most rows of a launch.

    Any other kind names a template of the code generator; it has no regions,
    and `config` holds every parameter that its text depends on.

    ```mlir
    plan.kernel @relu "row" body {
    ^bb0(%rows: index, %x: tensor<?x64xf32>):
      ...
      plan.yield %y : tensor<?x64xf32>
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$kind,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$config);
  let regions = (region AnyRegion:$body, AnyRegion:$epilogue);
  let assemblyFormat = [{
    $sym_name $kind (`config` $config^)? (`body` $body^)?
    (`epilogue` $epilogue^)? attr-dict
  }];
  let extraClassDeclaration = [{
    static constexpr llvm::StringLiteral rowKind = "row";
    static constexpr llvm::StringLiteral matvecKind = "matvec";
    bool isRow() { return getKind() == rowKind; }
    bool isMatvec() { return getKind() == matvecKind; }
    /// Launches count blocks of rows, not rows.
    bool hasRowBlocks() { return isRow() && getConfigAttr().get("row_blocks"); }

    /// Types that a launch must bring, in argument order: a row kernel's
    /// inputs; a matvec's prologue inputs, weight and epilogue inputs.
    /// Empty for templates.
    SmallVector<RankedTensorType> getInputTypes();
    SmallVector<RankedTensorType> getOutputTypes();

    /// A matvec's weight type, tensor<NxKxT>.
    RankedTensorType getWeightType();

    /// An entry of `config`, or null.
    template <typename T> T getConfig(StringRef name) {
      return getConfigAttr().template getAs<T>(name);
    }
    /// An integer of `config` that the kernel's kind requires.
    int64_t getConfigInt(StringRef name) {
      return getConfig<IntegerAttr>(name).getInt();
    }
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_YieldOp : Plan_Op<"yield", [Pure, Terminator, HasParent<"KernelOp">]> {
  let summary = "Ends a kernel's region and names what it computes";
  let arguments = (ins Variadic<AnyRankedTensor>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

def Plan_ProgramOp : Plan_Op<"program", [Symbol, HasParent<"ModuleOp">,
    IsolatedFromAbove, SingleBlock, NoTerminator, NoRegionArguments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Straight-line instructions; one CUDA Graph";
  let description = [{
    `batch` sequences of `tokens` rows each. `count` names the state slot that
    holds how many of the rows are valid; instructions marked `dynamic_rows`
    may stop there.

    ```mlir
    plan.program prefill @prefill batch 1 tokens 512 count @count {
      ...
    }
    ```
  }];
  let arguments = (ins Plan_RoleAttr:$role, SymbolNameAttr:$sym_name,
                       I64Attr:$batch, I64Attr:$tokens,
                       OptionalAttr<FlatSymbolRefAttr>:$count);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $role $sym_name `batch` $batch `tokens` $tokens (`count` $count^)?
    attr-dict-with-keyword $body
  }];
  let skipDefaultBuilders = 1;
  let builders = [OpBuilder<(ins "Role":$role, "StringRef":$name,
                                 "int64_t":$batch, "int64_t":$tokens,
                                 "StringRef":$count)>];
  let extraClassDeclaration = [{
    /// The instructions in order; their positions here are their numbers.
    auto getInstructions() {
      return getBody().getOps<InstructionOpInterface>();
    }
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Plan_GlobalRefOp : Plan_Op<"global_ref", [Pure, HasParent<"ProgramOp">,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A global, or a prefix of its rows, as a buffer";
  let arguments = (ins FlatSymbolRefAttr:$global);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = "$global `:` type($buffer) attr-dict";
}

def Plan_AllocOp : Plan_Op<"alloc", [HasParent<"ProgramOp">]> {
  let summary = "A buffer that lives from its first to its last use";
  let description = [{
    `plan-memory` sets `offset` in the arena of its kind, and `first` and
    `last`, the numbers of the first and last instruction that touch it.
  }];
  let arguments = (ins Plan_AllocKindAttr:$kind, OptionalAttr<I64Attr>:$offset,
                       OptionalAttr<I64Attr>:$first,
                       OptionalAttr<I64Attr>:$last);
  let results = (outs Res<Plan_Buffer, "", [MemAlloc]>:$buffer);
  let assemblyFormat = [{
    $kind (`offset` $offset^)? (`first` $first^)? (`last` $last^)?
    `:` type($buffer) attr-dict
  }];
  let extraClassDeclaration = [{
    ArenaKind getArenaKind() {
      return getKind() == AllocKind::Activation ? ArenaKind::Activations
                                                : ArenaKind::Workspace;
    }
    int64_t getBytes();
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

def Plan_LaunchOp : Plan_Instruction<"launch", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InstructionOpInterface, ["getInPlaceOperands"]>,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Runs a kernel over rows";
  let description = [{
    `rows` counts blocks of rows where the kernel has those.
    The kernel's arguments are `ins`, then `outs`, then on CUDA the number of
    rows and the `scalars`. `updates` lists the `outs` that are also read.
    `grid` is set by `select-cuda-kernels`.
    `programmatic` says that the kernel itself waits for its predecessor.

    ```mlir
    plan.launch @relu rows 512 ins(%x : memref<512x64xf32>)
                               outs(%y : memref<512x64xf32>)
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, I64Attr:$rows,
                       Variadic<Plan_Buffer>:$ins, Variadic<Plan_Buffer>:$outs,
                       OptionalAttr<DenseI32ArrayAttr>:$updates,
                       OptionalAttr<DenseI32ArrayAttr>:$scalars,
                       OptionalAttr<DenseI32ArrayAttr>:$grid,
                       UnitAttr:$dynamic_rows, UnitAttr:$programmatic);
  let assemblyFormat = [{
    $kernel `rows` $rows (`ins` `(` $ins^ `:` type($ins) `)`)?
    (`outs` `(` $outs^ `:` type($outs) `)`)? (`updates` $updates^)?
    (`scalars` $scalars^)? (`grid` $grid^)? (`dynamic_rows` $dynamic_rows^)?
    (`programmatic` $programmatic^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Whether outs[i] is read before it is written.
    bool isUpdate(unsigned i);
  }];
  let hasVerifier = 1;
}

def Plan_MatmulOp : Plan_Instruction<"matmul", [AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "d[M,N] = a[M,K] * weight[N,K]^T (+ bias[N])";
  let description = [{
    A library call: fp32 accumulation, bias added before the one rounding. With
    `transpose_a`, a lies as [K, M]; with `weight_kn`, the weight as [K, N];
    with `accumulate`, the product is added to d, which is f32.

    ```mlir
    plan.matmul %a, %w bias %b into %d : memref<4x8xf32>, memref<16x8xf32>,
        memref<16xf32> into memref<4x16xf32>
    ```
  }];
  let arguments = (ins Plan_Buffer:$a, Plan_Buffer:$weight,
                       Optional<Plan_Buffer>:$bias, Plan_Buffer:$d,
                       Optional<Plan_Buffer>:$workspace,
                       UnitAttr:$transpose_a, UnitAttr:$weight_kn,
                       UnitAttr:$accumulate, UnitAttr:$dynamic_rows);
  let assemblyFormat = [{
    $a `,` $weight (`bias` $bias^ `:` type($bias))? `into` $d
    (`workspace` $workspace^ `:` type($workspace))?
    (`transpose_a` $transpose_a^)? (`weight_kn` $weight_kn^)?
    (`accumulate` $accumulate^)? (`dynamic_rows` $dynamic_rows^)? attr-dict
    `:` type($a) `,` type($weight) `into` type($d)
  }];
  let extraClassDeclaration = [{
    int64_t getM();
    int64_t getN();
    int64_t getK();
  }];
  let hasVerifier = 1;
}

def Plan_AttentionOp : Plan_Instruction<"attention",
                                        [AttrSizedOperandSegments]> {
  let summary = "Causal attention as one instruction of the CPU runtime";
  let description = [{
    qkv is [batch * tokens, 3 * heads * head_size]. With caches, row (b, t)
    stands at position starts[b] + t and sees cache row slot + b up to itself;
    without, it sees rows 0..t of its own sequence. `lse`, [rows, heads],
    receives the logarithm of the sum of the exponentials of a row's scores.
    `rng` is what the hash of `dropout` is keyed with, beside `dropout_id`.
  }];
  let arguments = (ins ReadBuffer:$qkv, OptionalReadBuffer:$k_cache,
                       OptionalReadBuffer:$v_cache, OptionalReadBuffer:$starts,
                       OptionalReadBuffer:$slot, OptionalReadBuffer:$rng,
                       WriteBuffer:$out, OptionalWriteBuffer:$lse,
                       Scratch:$workspace, I64Attr:$batch, I64Attr:$tokens,
                       I64Attr:$heads, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$dropout,
                       OptionalAttr<I32Attr>:$dropout_id,
                       UnitAttr:$dynamic_rows);
  let assemblyFormat = [{
    $qkv (`caches` $k_cache^ `,` $v_cache `starts` $starts
    `:` type($k_cache) `,` type($v_cache) `,` type($starts))?
    (`slot` $slot^ `:` type($slot))?
    (`rng` $rng^ `:` type($rng) `dropout` $dropout `id` $dropout_id)?
    `into` $out (`lse` $lse^ `:` type($lse))?
    (`workspace` $workspace^ `:` type($workspace))?
    `batch` $batch `tokens` $tokens `heads` $heads `scale` $scale
    (`dynamic_rows` $dynamic_rows^)? attr-dict `:` type($qkv) `into` type($out)
  }];
  let extraClassDeclaration = [{
    int64_t getHeadSize();
  }];
  let hasVerifier = 1;
}

def Plan_AttentionGradOp : Plan_Instruction<"attention_grad",
                                            [AttrSizedOperandSegments]> {
  let summary = "The gradient of attention without caches";
  let description = [{
    `out` and `lse` are what the forward instruction wrote; `rng`, `dropout` and
    `dropout_id` are its own.
  }];
  let arguments = (ins ReadBuffer:$qkv, ReadBuffer:$out, ReadBuffer:$lse,
                       ReadBuffer:$dout, OptionalReadBuffer:$rng,
                       WriteBuffer:$dqkv, Scratch:$workspace, I64Attr:$batch,
                       I64Attr:$tokens, I64Attr:$heads, F32Attr:$scale,
                       OptionalAttr<F32Attr>:$dropout,
                       OptionalAttr<I32Attr>:$dropout_id);
  let assemblyFormat = [{
    $qkv `,` $out `,` $lse `,` $dout
    (`rng` $rng^ `:` type($rng) `dropout` $dropout `id` $dropout_id)?
    `into` $dqkv (`workspace` $workspace^ `:` type($workspace))?
    `batch` $batch `tokens` $tokens `heads` $heads `scale` $scale attr-dict
    `:` type($qkv) `,` type($out) `,` type($lse) `,` type($dout)
    `into` type($dqkv)
  }];
  let extraClassDeclaration = [{
    int64_t getHeadSize();
  }];
  let hasVerifier = 1;
}

def Plan_EmbedGradOp : Plan_Instruction<"embed_grad"> {
  let summary = "Adds rows to the tables that they came from";
  let description = [{
    dwte[tokens[row]] gains dx[row] in the sequence of `order`, which lists the
    rows stably sorted by token; dwpe[t] gains dx of (b, t) by increasing b.
  }];
  let arguments = (ins ReadBuffer:$dx, ReadBuffer:$tokens, ReadBuffer:$order,
                       UpdateBuffer:$dwte, UpdateBuffer:$dwpe, I64Attr:$batch);
  let assemblyFormat = [{
    $dx `tokens` $tokens `order` $order `into` $dwte `,` $dwpe `batch` $batch
    attr-dict `:` type($dx) `,` type($tokens) `,` type($order)
    `into` type($dwte) `,` type($dwpe)
  }];
  let extraClassDeclaration = [{
    int64_t getTokensPerSequence();
  }];
  let hasVerifier = 1;
}

def Plan_CacheAppendOp : Plan_Instruction<"cache_append",
                                          [AttrSizedOperandSegments]> {
  let summary = "Writes the K and V parts of qkv rows into the caches";
  let description = [{
    Row (b, t) goes to cache row slot + b at position starts[b] + t, for
    t < count (every t without one).
  }];
  let arguments = (ins ReadBuffer:$qkv, UpdateBuffer:$k_cache,
                       UpdateBuffer:$v_cache, ReadBuffer:$starts,
                       OptionalReadBuffer:$count, OptionalReadBuffer:$slot,
                       I64Attr:$batch, I64Attr:$tokens, I64Attr:$heads);
  let assemblyFormat = [{
    $qkv `caches` $k_cache `,` $v_cache `starts` $starts
    (`count` $count^ `:` type($count))? (`slot` $slot^ `:` type($slot))?
    `batch` $batch `tokens` $tokens `heads` $heads attr-dict
    `:` type($qkv) `,` type($k_cache) `,` type($v_cache) `,` type($starts)
  }];
  let extraClassDeclaration = [{
    int64_t getHeadSize();
  }];
  let hasVerifier = 1;
}

def Plan_SampleOp : Plan_Instruction<"sample", [AttrSizedOperandSegments]> {
  let summary = "Draws the next token of each row";
  let description = [{
    Row b of logits belongs to slot + b. Writes tokens[slot + b] and
    positions[slot + b] = min(starts[b] + advance, positions_limit - 1), where
    advance is count[0], or 1 without a count.
  }];
  let arguments = (ins ReadBuffer:$logits, ReadBuffer:$sampling,
                       ReadBuffer:$starts, OptionalReadBuffer:$count,
                       OptionalReadBuffer:$slot, UpdateBuffer:$tokens,
                       UpdateBuffer:$positions, Scratch:$workspace,
                       I64Attr:$vocab, I64Attr:$positions_limit);
  let assemblyFormat = [{
    $logits `sampling` $sampling `starts` $starts
    (`count` $count^ `:` type($count))? (`slot` $slot^ `:` type($slot))?
    `into` $tokens `,` $positions
    (`workspace` $workspace^ `:` type($workspace))?
    `vocab` $vocab `limit` $positions_limit attr-dict
    `:` type($logits) `,` type($sampling) `,` type($starts)
    `into` type($tokens) `,` type($positions)
  }];
  let hasVerifier = 1;
}

def Plan_CopyOp : Plan_Instruction<"copy"> {
  let summary = "Copies a buffer";
  let arguments = (ins ReadBuffer:$src, WriteBuffer:$dst);
  let assemblyFormat = [{
    $src `into` $dst attr-dict `:` type($src) `into` type($dst)
  }];
  let hasVerifier = 1;
}

def Plan_FillOp : Plan_Instruction<"fill"> {
  let summary = "Sets every element";
  let arguments = (ins WriteBuffer:$dst, F32Attr:$value);
  let assemblyFormat = "$dst `with` $value attr-dict `:` type($dst)";
}

def Plan_LoadWeightOp : Plan_Instruction<"load_weight"> {
  let summary = "Reads a parameter from the checkpoint";
  let description = [{
    The first of `names` that exists, [rows, cols] in the file (cols 0: a
    vector), converted to dst's dtype, transposed if asked and padded with
    zeroes to dst's shape.
  }];
  let arguments = (ins StrArrayAttr:$names, WriteBuffer:$dst, I64Attr:$rows,
                       I64Attr:$cols, UnitAttr:$transpose);
  let assemblyFormat = [{
    $names `rows` $rows `cols` $cols (`transpose` $transpose^)? `into` $dst
    attr-dict `:` type($dst)
  }];
  let hasVerifier = 1;
}

#endif // GPT2_DIALECTS_PLAN_PLANOPS_TD
