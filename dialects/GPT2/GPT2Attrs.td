// Enumerations and attributes of the gpt2 dialect.
// SPDX-License-Identifier: Apache-2.0

#ifndef GPT2_ATTRS_TD
#define GPT2_ATTRS_TD

include "dialects/GPT2/GPT2Dialect.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"

class GPT2_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::mlir::gpt2";
  let genSpecializedAttr = 0;
}

def GPT2_GlobalKind : GPT2_Enum<"GlobalKind", "what a global holds", [
  I32EnumAttrCase<"Parameter", 0, "parameter">,
  I32EnumAttrCase<"Cache", 1, "cache">,
  I32EnumAttrCase<"State", 2, "state">,
  I32EnumAttrCase<"Gradient", 3, "gradient">,
  I32EnumAttrCase<"Moment", 4, "moment">
]>;
def GPT2_GlobalKindAttr
    : EnumAttr<GPT2_Dialect, GPT2_GlobalKind, "global_kind">;

def GPT2_ActivationKind
    : GPT2_Enum<"ActivationKind", "an activation function", [
  I32EnumAttrCase<"GeluTanh", 0, "gelu_tanh">,
  I32EnumAttrCase<"GeluErf", 1, "gelu_erf">,
  I32EnumAttrCase<"GeluFast", 2, "gelu_fast">,
  I32EnumAttrCase<"QuickGelu", 3, "quick_gelu">,
  I32EnumAttrCase<"Relu", 4, "relu">,
  I32EnumAttrCase<"Silu", 5, "silu">,
  I32EnumAttrCase<"Tanh", 6, "tanh">
]>;
def GPT2_ActivationKindAttr
    : EnumAttr<GPT2_Dialect, GPT2_ActivationKind, "activation_kind">;

def GPT2_FusedKind : GPT2_Enum<"FusedKind", "how a region becomes a kernel", [
  I32EnumAttrCase<"Row", 0, "row">,
  I32EnumAttrCase<"Matvec", 1, "matvec">
]>;
def GPT2_FusedKindAttr
    : EnumAttr<GPT2_Dialect, GPT2_FusedKind, "fused_kind">;

def GPT2_ProgramRole : GPT2_Enum<"ProgramRole", "what a program is for", [
  I32EnumAttrCase<"Prefill", 0, "prefill">,
  I32EnumAttrCase<"Decode", 1, "decode">,
  I32EnumAttrCase<"Eval", 2, "eval">,
  I32EnumAttrCase<"Accumulate", 3, "accumulate">,
  I32EnumAttrCase<"Update", 4, "update">,
  I32EnumAttrCase<"Validate", 5, "validate">,
  I32EnumAttrCase<"Sample", 6, "sample">
]>;

def GPT2_ProgramAttr : AttrDef<GPT2_Dialect, "Program"> {
  let mnemonic = "program";
  let summary = "what a program is: role, sequences, tokens a sequence";
  let description = [{
    `rows = batch * tokens` is the row count of the program's activations.
    `count` names the `i32[1]` state slot with the number of valid tokens, when
    fewer than `tokens` may be valid.
  }];
  let parameters = (ins
    EnumParameter<GPT2_ProgramRole>:$role,
    "int64_t":$batch,
    "int64_t":$tokens,
    OptionalParameter<"::mlir::FlatSymbolRefAttr">:$count
  );
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRows() const { return getBatch() * getTokens(); }
  }];
}

#endif // GPT2_ATTRS_TD
