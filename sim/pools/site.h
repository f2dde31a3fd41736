// A place for requests in one of two pools: an instance, and what dispatchers weigh of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "sim/instance/instance.h"
#include "sim/instance/route.h"
#include "sim/machine/gpu_group.h"
#include "sim/pools/storage_network.h"
#include "sim/serving/instance_environment.h"
#include "sim/serving/measurements.h"

namespace kvsim::pools {

class Site {
 public:
  /// All of it outlives the site. `changed`: see touch().
  Site(const serving::InstanceEnvironment& environment, serving::Route& route, std::vector<Site*>& changed, Pool pool,
       std::size_t index, const StorageNetwork& network);

  [[nodiscard]] serving::Instance& instance() { return instance_; }
  [[nodiscard]] Pool pool() const { return pool_; }
  [[nodiscard]] std::size_t index() const { return index_; }
  [[nodiscard]] serving::KvHoldings& memory() {  // to change it
    touch();
    return instance_.memory();
  }
  [[nodiscard]] const serving::KvHoldings& memory() const { return instance_.memory(); }
  [[nodiscard]] const machine::GpuGroup& gpus() const { return instance_.gpus(); }

  void start_measuring() { instance_.start_measuring(); }
  /// Adds what was measured, beside that to `measured`, to which `pool` belongs: one of so many sites.
  void finish_measuring(serving::PoolMeasurement& pool, std::int64_t sites);

  // Requests that are here, assigned for good and not finished; and those verified here with full KV read anew each
  // round.
  [[nodiscard]] std::int64_t requests() const { return requests_; }
  [[nodiscard]] std::int64_t stateless() const { return stateless_; }
  /// Requests among these that the instance has not seen yet.
  [[nodiscard]] std::int64_t requests_waiting() const { return instance_.requests().waiting(); }
  void count_requests(std::int64_t change);
  void count_stateless(std::int64_t change);

  /// Puts the site into `changed`, once until it is looked_at(): its merits as a place for a request may have changed.
  void touch() {
    if (!std::exchange(touched_, true)) changed_.push_back(this);
  }
  void looked_at() { touched_ = false; }

 private:
  void note_waiting();

  std::vector<Site*>& changed_;
  Pool pool_;
  std::size_t index_;
  serving::Instance instance_;
  std::int64_t requests_ = 0, stateless_ = 0;
  bool touched_ = false;
};

}  // namespace kvsim::pools
