#include "sim/pools/site.h"

#include <algorithm>

#include "sim/serving/schedule_policy.h"

namespace kvsim::pools {

Site::Site(const serving::InstanceEnvironment& environment, serving::Route& route, std::vector<Site*>& changed,
           Pool pool, std::size_t index, const StorageNetwork& network)
    : changed_(changed),
      pool_(pool),
      index_(index),
      instance_(environment,
                {node_name(pool, index), 0, environment.config.schedule.reserves_prompt(), network.kv_link(pool, index),
                 &route},
                *serving::find_schedule_policy(environment.config.schedule.policy)) {
  touch();
}

void Site::count_requests(std::int64_t change) {
  requests_ += change;
  touch();
  note_waiting();
  instance_.gpus().trace_running(requests_);
}

void Site::count_stateless(std::int64_t change) {
  stateless_ += change;
  touch();
  note_waiting();
}

/// Idle with requests here: they wait for transfers or for the other pool.
void Site::note_waiting() {
  instance_.gpus().wait_for_link(requests_ > 0 || stateless_ > 0);
}

void Site::finish_measuring(serving::PoolMeasurement& pool, std::int64_t sites) {
  instance_.finish_measuring();
  const serving::ComputedWork& computed = instance_.computed();
  pool.capacity_s += gpus().spent().measured_length().seconds();
  pool.busy_s += gpus().spent().measured().computing.seconds();
  pool.iterations += computed.iterations;
  pool.decode_tokens += computed.decode_tokens;
  pool.draft_tokens += computed.draft_tokens;
  pool.verifications += computed.verifications;
  pool.verified_tokens += computed.verified_tokens;
  pool.prefill_tokens += computed.prefill_tokens;
  pool.reserved_mean_bytes += instance_.memory().gpu().pool().mean_reserved() / static_cast<double>(sites);
  pool.reserved_peak_bytes = std::max(pool.reserved_peak_bytes, instance_.memory().gpu().pool().high_water());
}

}  // namespace kvsim::pools
