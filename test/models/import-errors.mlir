// One clear line for every MODEL or option that cannot be used.
// RUN: not gpt2-opt %s --test-import-model="model=gpt3" 2>&1 | FileCheck %s --check-prefix=PRESET
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/cross_attention" 2>&1 | FileCheck %s --check-prefix=CROSS
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/truncated/config.json" 2>&1 | FileCheck %s --check-prefix=TRUNCATED
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs" 2>&1 | FileCheck %s --check-prefix=NOCONFIG
// RUN: not gpt2-opt %s --test-import-model="model=missing.mlir" 2>&1 | FileCheck %s --check-prefix=NOFILE
// RUN: not gpt2-opt %s --test-import-model="model=%s" 2>&1 | FileCheck %s --check-prefix=NOMODEL
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/no_program.mlir" 2>&1 | FileCheck %s --check-prefix=NOPROGRAM
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/bad_shape.mlir" 2>&1 | FileCheck %s --check-prefix=SHAPE
// RUN: not gpt2-opt %s --test-import-model="model=tiny seq=65" 2>&1 | FileCheck %s --check-prefix=SEQ
// RUN: not gpt2-opt %s --test-import-model="model=tiny seq=-1" 2>&1 | FileCheck %s --check-prefix=SEQ
// RUN: not gpt2-opt %s --test-import-model="model=tiny batch=0" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not gpt2-opt %s --test-import-model="model=tiny seq=16 chunk=17" 2>&1 | FileCheck %s --check-prefix=CHUNK
// RUN: not gpt2-opt %s --test-import-model="model=tiny batch=2 buckets=1,4" 2>&1 | FileCheck %s --check-prefix=BUCKET
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/long eval=true batch=4096" 2>&1 | FileCheck %s --check-prefix=LARGE
// RUN: not gpt2-opt %s --test-import-model="model=tiny train=true dropout=1" 2>&1 | FileCheck %s --check-prefix=DROPOUT
// RUN: not gpt2-opt %s --test-import-model="model=tiny train=true dropout=-0.5" 2>&1 | FileCheck %s --check-prefix=DROPOUT
// RUN: not gpt2-opt %s --test-import-model="model=%S/Inputs/long train=true batch=4096" 2>&1 | FileCheck %s --check-prefix=LARGE
module {}

// DROPOUT: error: --dropout={{1|-0.5}} must be at least 0 and less than 1
// PRESET: error: model 'gpt3' is not a file, a directory or a preset (tiny, distilgpt2, gpt2, gpt2-medium, gpt2-large, gpt2-xl)
// CROSS: error: {{.*}}cross_attention/config.json{{.*}}cross-attention is not supported
// TRUNCATED: error: {{.*}}truncated/config.json
// NOCONFIG: error: model directory '{{.*}}Inputs' has no config.json
// NOFILE: error: cannot open 'missing.mlir': no such file or directory
// LARGE: error: --batch=4096 with --seq=1048576 makes tensors that are too large: choose less
// NOMODEL: error: {{.*}}import-errors.mlir: the module has no 'gpt2.model' attribute
// NOPROGRAM: error: {{.*}}no_program.mlir: no function has a 'gpt2.program' attribute
// SHAPE: error: {{.*}}bad_shape.mlir:11:8: 'gpt2.read' op 'tensor<9xf32>' is not a prefix of 'x' of type 'tensor<8xf32>'
// SEQ: error: --seq={{65|-1}} must be between 1 and the model's 64 positions
// BATCH: error: --batch=0 must be between 1 and 4096
// CHUNK: error: a prefill chunk of 17 tokens must be between 1 and --seq=16
// BUCKET: error: decode bucket 4 must be between 1 and --batch=2
