// Prompts that a placement keeps in the storage node's memory and in devices below it: a prompt store of replicas
// (sim/serving/prompt_store.h), read and written over the nodes' own links.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/pools/stored_prompts.h"
#include "sim/serving/prompt_store.h"

namespace kvsim::pools {

class TieredPrompts final : public StoredPrompts {
 public:
  /// All of it outlives this. `prompts` numbers groups of GPUs as StorageNetwork::lanes() has them.
  TieredPrompts(const StorageNetwork& network, Loads& loads, serving::PromptStore& prompts)
      : network_(network), loads_(loads), prompts_(prompts) {}

  void arrived(PoolRequest& r, const models::RequestSpec& spec) override { prompts_.arrived(*r.request, spec, 0); }
  void refused(const PoolRequest& r) override { prompts_.refused(*r.request); }
  void look(PoolRequest& r) override { r.request->prefix = prompts_.find(*r.request); }
  [[nodiscard]] std::size_t blocks(const PoolRequest&) const override { return 0; }
  [[nodiscard]] std::int64_t tokens(const PoolRequest& r) const override { return r.request->prefix.tokens; }
  void hold(PoolRequest& r) override;
  void release(const PoolRequest& r) override { prompts_.finished(*r.request); }
  void load(PoolRequest& r, Node& node, Claim claim, std::int64_t bytes) override;
  void upload(PoolRequest& r, const Node& node, bool resumes) override;
  void start_measuring() override { prompts_.start_measuring(); }
  void finish_measuring(serving::Measurements& measured) override { prompts_.finish_measuring(measured); }
  void check_conservation() const override { prompts_.check_conservation(); }

 private:
  const StorageNetwork& network_;
  Loads& loads_;
  serving::PromptStore& prompts_;
};

}  // namespace kvsim::pools
