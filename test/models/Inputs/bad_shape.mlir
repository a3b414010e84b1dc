// A program that reads more than there is.
module attributes {
  gpt2.model = {name = "toy", vocab = 100 : i64, padded_vocab = 128 : i64,
                positions = 16 : i64, width = 8 : i64, layers = 1 : i64,
                heads = 2 : i64, inner = 32 : i64, eos = -1 : i64,
                parameters = 8 : i64}
} {
gpt2.global state @x : tensor<8xf32>
func.func @decode() attributes {
    gpt2.program = #gpt2.program<role = decode, batch = 1, tokens = 1>} {
  %0 = gpt2.read @x : tensor<9xf32>
  return
}
}
