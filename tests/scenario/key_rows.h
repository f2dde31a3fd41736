// What each key of a scenario changes, shown by two values of it.
#pragma once

#include <exception>
#include <functional>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "sim/scenario/scenario.h"
#include "tests/support/sets.h"

namespace kvsim::testing {

/// Where the difference between the two values must be seen.
enum class Effect {
  measured,  ///< in the measurements
  reported,  ///< in the result document or its page: names, sources, fall-backs
  refused,   ///< one of the two values is an error in this scenario
  shown,     ///< only in the resolved scenario: what something is called and described as
  listed,    ///< only in the report's list of figures, though nothing is computed from it yet
  none_yet   ///< nowhere but in the resolved scenario; gets a row of another kind when the key gains an effect
};

struct KeyRow {
  std::string key;
  Sets base;         ///< changes to the small scenario for both runs
  std::string a, b;  ///< the two values; with a "=" the whole assignment
  Effect effect = Effect::measured;

  /// For the name of its test.
  friend std::ostream& operator<<(std::ostream& out, const KeyRow& row);
};

std::vector<KeyRow> model_rows();      ///< model
std::vector<KeyRow> cluster_rows();    ///< cluster, without the profile
std::vector<KeyRow> profile_rows();    ///< cluster.gpu.profile
std::vector<KeyRow> kernel_rows();     ///< cluster.gpu.profile: fitted forms and tables
std::vector<KeyRow> workload_rows();   ///< workload, prefill and what a scenario says of itself
std::vector<KeyRow> decode_rows();     ///< decode
std::vector<KeyRow> drafting_rows();   ///< decode.drafter, decode.sparse
std::vector<KeyRow> pools_rows();      ///< cluster.pools, dispatch
std::vector<KeyRow> placement_rows();  ///< placement, cluster.storage, cluster.host where it is a tier
std::vector<KeyRow> reuse_rows();      ///< prefill, workload, placement and slo where prompts are made of chunks
std::vector<KeyRow> schedule_rows();   ///< schedule, slo, run

/// Adds the keys of a link's gathers; `link` is the link's path. Only a link to host memory is `used` for rows.
void add_link_tables(std::vector<KeyRow>& rows, const std::string& link, const std::vector<std::string>& base,
                     bool used = false);

/// Adds the keys of a small network at this path, Llama 3.2 1B in scenarios that `in` makes, but its vocabulary;
/// `heavier` are weights that it changes something to have.
void add_small_network(std::vector<KeyRow>& rows, const std::string& key,
                       const std::function<std::vector<std::string>(std::vector<std::string>)>& in,
                       const std::string& heavier);

/// Fetches KV pairs speculatively beside a 2-bit copy.
inline std::vector<std::string> fetching(std::vector<std::string> more = {}) {
  more.insert(more.begin(),
              {"decode={policy: speculative_prefetch, compressor: specache-2bit}", "schedule.policy=fcfs"});
  return more;
}

/// The assignment of a profile with fitted forms, as measured on an H100.
std::string fitted_profile();

std::vector<KeyRow> key_rows();  ///< all of them

/// Why nothing reads the key of a row in this scenario, by the rules of the schema; empty where something does.
std::string why_unread(const scenario::Scenario& scenario, const std::string& key);

/// Prompts computed on the GPU, so that arithmetic matters.
inline std::vector<std::string> recomputed(std::vector<std::string> more = {}) {
  more.insert(more.begin(), {"prefill=recompute", "decode.compressor=fast-kvzip"});
  return more;
}

/// The small scenario's requests over one local and two remote nodes, drafting on KIVI at 4 bits.
std::vector<std::string> with_pools(std::vector<std::string> more = {});

/// Contexts that many requests share, stored by LRU in host memory, on an SSD and remotely.
std::vector<std::string> placed(std::vector<std::string> more = {});

/// Prompts of four chunks put together on the GPU, with tokens computed again that a small model chooses.
std::vector<std::string> blended(std::vector<std::string> more = {});

}  // namespace kvsim::testing
