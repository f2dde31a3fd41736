#include "sim/pools/tiered_prompts.h"

namespace kvsim::pools {

void TieredPrompts::hold(PoolRequest& r) {
  const Node& node = r.local ? *r.local : *r.remote;
  prompts_.assigned(*r.request, network_.number(node.pool(), node.index()));
  r.stored = tokens(r);
}

void TieredPrompts::load(PoolRequest& r, Node& node, Claim claim, std::int64_t bytes) {
  if (r.stored == 0) return loads_.load(r, node, claim, bytes, "first load");
  prompts_.load(*r.request, loads_.expect(r, node, claim));
}

void TieredPrompts::upload(PoolRequest& r, const Node&, bool) {
  prompts_.computed(*r.request);
}

}  // namespace kvsim::pools
