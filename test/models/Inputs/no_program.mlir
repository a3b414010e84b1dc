// A model without a program.
module attributes {
  gpt2.model = {name = "toy", vocab = 100 : i64, padded_vocab = 128 : i64,
                positions = 16 : i64, width = 8 : i64, layers = 1 : i64,
                heads = 2 : i64, inner = 32 : i64, eos = -1 : i64,
                parameters = 8 : i64}
} {}
