// Transfers of requests' KV between a group of GPUs and host memory, beside the reloads of verifications. The stored
// part of a prompt comes at its admission. Computed KV leaves where the full KV is kept in host memory. Also, the use
// of the group's memory meanwhile.
#pragma once

#include <cstdint>
#include <string>

#include "sim/engine/statistics.h"
#include "sim/instance/fetched_steps.h"
#include "sim/instance/request_queues.h"
#include "sim/machine/gpu_group.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/kv_demand.h"
#include "sim/serving/kv_holdings.h"
#include "sim/transport/link.h"

namespace kvsim::serving {

/// Between a replica's GPUs and host memory: a link per GPU, each of which moves its shards. The lanes are the
/// fabric's.
KvLink make_host_link(transport::Fabric& fabric, const ServingConfig& config, const GroupConfig& group,
                      const DecodePolicy& decode, const std::string& instance);

/// GPU memory in use over time, and whether there was enough.
class MemoryUse {
 public:
  /// All of it outlives this. Not `own`: what requests hold, and what of it is on its way, is their route's to say.
  MemoryUse(const InstanceEnvironment& environment, const std::string& group, machine::GpuGroup& gpus,
            const KvHoldings& memory, const RequestQueues& queues, const transport::Link& from_host, bool own);

  /// Something has come or is computed: what is in use now counts until the next time.
  void note();
  /// Adds so many bytes (or takes them off, if negative) to the first loads under way.
  void add_loading(std::int64_t bytes) { loading_bytes_ += bytes; }
  /// Whether somebody cannot begin, or be verified, for lack of memory from now on.
  void set_short(bool lacks) { short_.set(lacks ? 1.0 : 0.0, env_.simulator.now()); }

  /// Ends the warm-up.
  void start_measuring();
  /// Adds what was measured since then.
  void finish_measuring();

 private:
  const InstanceEnvironment& env_;
  machine::GpuGroup& gpus_;
  const KvHoldings& memory_;
  const RequestQueues& queues_;
  const transport::Link& from_host_;
  bool own_;
  std::int64_t loading_bytes_ = 0;  // beside which fetches use the link
  engine::TimeWeighted short_;      // 1 while it is
  int queue_counter_ = -1;
};

/// Hears that what was loaded of a request at its admission is there.
class LoadListener {
 public:
  virtual ~LoadListener() = default;
  virtual void on_loaded(Request& r) = 0;
};

class FirstLoads {
 public:
  /// All of it outlives this.
  FirstLoads(const InstanceEnvironment& environment, transport::Link& from_host, machine::GpuGroup& gpus,
             MemoryUse& use, LoadListener& listener)
      : env_(environment), from_host_(from_host), gpus_(gpus), use_(use), listener_(listener) {}

  /// From host memory, for a request that has been admitted.
  void load(Request& r, std::int64_t bytes);
  /// Loads the part of the prompt that the prompt store has (Request::prefix).
  void load_prefix(Request& r);
  /// The request is preempted. Precondition: its assembly, if any, is told afterwards.
  void abandon(Request& r);

 private:
  void on_arrived(std::uint64_t id);
  void begin(Request& r, std::int64_t bytes);
  void end(Request& r);

  const InstanceEnvironment& env_;
  transport::Link& from_host_;
  machine::GpuGroup& gpus_;
  MemoryUse& use_;
  LoadListener& listener_;
};

/// Hears that all KV of a request that was prefilled lately is in host memory.
class OffloadListener {
 public:
  virtual ~OffloadListener() = default;
  virtual void on_settled(Request& r) = 0;
};

/// Write-back of computed KV that is kept in host memory, too, after its step. Under policies that fetch KV, that KV
/// leaves while the step runs (FetchedSteps).
class Offloading {
 public:
  /// All of it outlives this.
  Offloading(const InstanceEnvironment& environment, const KvDemand& demand, transport::Link& to_host,
             machine::GpuGroup& gpus, MemoryUse& use, OffloadListener& listener)
      : env_(environment), demand_(demand), to_host_(to_host), gpus_(gpus), use_(use), listener_(listener) {}

  /// The step that has ended gave the KV of `tokens` more tokens.
  void computed(Request& r, std::int64_t tokens);
  /// Something of the request that left beside its steps (KvMoving::writebacks) is in host memory.
  void offloaded(std::uint64_t id);
  [[nodiscard]] bool idle() const { return under_way_ == 0; }

 private:
  void on_arrived(std::uint64_t id);

  const InstanceEnvironment& env_;
  const KvDemand& demand_;
  transport::Link& to_host_;
  machine::GpuGroup& gpus_;
  MemoryUse& use_;
  OffloadListener& listener_;
  std::int64_t under_way_ = 0;
};

}  // namespace kvsim::serving
