#include "models/kernels/fitted_schema.h"

namespace kvsim::models {

schema::ObjectSchema<MoeForm> moe_form_schema() {
  using namespace schema;
  using F = MoeForm;
  ObjectSchema<F> s("fitted moe", "Routed experts of a layer: weights of those reached against tiles of their tokens.");
  s.required("weights", &F::weights, weight_number_format(), "format of the weights");
  s.required("t0", &F::t0_s, fixed_kernel_time(), "fixed time of a layer's calls");
  s.optional("per_expert", &F::per_expert_s, fixed_kernel_time(), "more per expert on the GPU, reached or not");
  s.optional("per_doubling", &F::per_doubling_s, fixed_kernel_time(), "more per doubling of 1 + tokens");
  s.optional("foreign_share", &F::foreign_share, number().at_least(0).at_most(1),
             "of a token's activations for an expert on another GPU, what takes time here too");
  s.optional("tile_overhead_k", &F::tile_overhead_k, number().non_negative().at_most(100000),
             "filling and draining a tile, as a length of k");
  s.optional("wave_quantisation", &F::wave_quantisation, number().at_least(0).at_most(1),
             "0: tiles spread evenly over the multiprocessors, 1: in whole waves");
  s.optional("blend_power", &F::blend_power, number().at_least(1).at_most(64),
             "how sharply the slower of streaming and arithmetic decides");
  s.optional("io_efficiency", &F::io_efficiency, cached_efficiency().above(0),
             "rate of activations, as a multiple of the peak memory bandwidth (a part hits L2)");
  s.object("stream", &F::stream, stream_schema(), Presence::required, "reading the weights");
  s.list("tiles", &F::tiles, gemm_tile_schema(), Presence::required, "tiles that the library chooses among",
         {.at_least = 1});
  add_fit_fields(s, "most tokens that were fitted; 0: not stated");
  return s;
}

}  // namespace kvsim::models
