// The laws of a scenario's workload that fit a recorded trace, how well, and what they lose of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/schema/config_node.h"
#include "models/workload/shared_prefixes.h"
#include "planner/traffic/law_fit.h"
#include "planner/traffic/traffic_sample.h"

namespace kvsim::planner::traffic {

// The law of workload.prefixes that fits what a trace's prompts have in common (prefix_fit.cpp).

struct PrefixFit {
  models::SharedPrefixSpec law;
  LengthFit own;           ///< tokens that follow the prefix
  double token_reuse = 0;  ///< of the trace, in a cache that never evicts

  // Expected values of as many requests of the law, blocks of the trace's size, for 199 draws of which prefixes are
  // long (a run makes one): the median, the least and the most, between which a further one is with a chance of 99 %.
  // Means over requests vary more than if each had a length of its own; what they vary by chance anyway is added.
  Estimate law_token_reuse;  ///< as token_reuse
  Estimate law_prompt_mean;  ///< of whole prompts
  Estimate law_prompt_cv;
};

/// None where no two requests begin alike. Each request belongs to the longest beginning that it has in common with
/// another; those that have none are of prefixes that nobody else has drawn, of mean
/// length.
std::optional<PrefixFit> fit_prefixes(const TrafficSample& sample);

/// Arrivals within a part of the trace's time.
struct RateWindow {
  double from_s = 0;  ///< since the first arrival
  double until_s = 0;
  double rate_per_s = 0;
};

struct RateOverTime {
  std::vector<RateWindow> windows;  ///< equally long
  /// Variance of arrivals a window over their mean, over the same of arrivals with independent gaps of this cv: 1 where
  /// the rate does not change.
  double dispersion = 1;
  bool beyond_chance = false;  ///< with a chance below 1 in 1,000: the fragment has the windows as steps
};

/// Fit to a trace that tells sessions apart. No law of workload says this: it is reported.
struct SessionFit {
  std::size_t alone = 0;       ///< requests of no session
  std::size_t sub_agents = 0;  ///< of the sessions those that another one's turn began
  std::uint64_t sessions = 0;
  std::uint64_t followed = 0;       ///< sessions of which everything else here is: of many not all
  Moments turns;                    ///< requests of a session
  Moments first_prompt;             ///< tokens
  std::optional<Moments> growth;    ///< tokens of a further turn beyond prompt and answer before; shortened ones are 0
  std::optional<Moments> think_ns;  ///< from the end of a turn to the next, where recorded
  std::optional<Moments> turn_gap_ns;  ///< from the arrival of a turn to that of the next
  double shortened = 0;                ///< share of further turns with less than was there before
  double cut = 0;       ///< share of sessions whose latest turn is less than the mean gap of turns from the trace's end
  double unlinked = 0;  ///< share of conversations' prompts from which no other would be seen to go on
};

/// Laws of sessions, as workload.sessions has them.
struct SessionLaws {
  LengthFit turns;         ///< in requests
  LengthFit first_prompt;  ///< tokens
  LengthFit growth;        ///< tokens; shortened turns grow by one
  LengthFit think_ms;      ///< milliseconds, at least one
  bool thought = false;    ///< from the end of an answer; else from the arrival of the turn before
};

struct TrafficFit {
  std::uint64_t requests = 0;
  std::uint64_t kept = 0;  ///< requests that laws of lengths and gaps are fitted to: of a long trace not all
  /// None: all requests arrive at once. Where the rate changes, of arrivals on a clock that runs as fast as it does.
  std::optional<ArrivalFit> arrivals;
  RateOverTime rate;
  double gap_correlation = 0;  ///< of each gap with the next; 0 where they are independent
  LengthFit prompt;            ///< whole prompts
  LengthFit output;
  double length_correlation = 0;  ///< Spearman's, of prompt and output
  std::optional<SessionFit> sessions;
  std::optional<SessionLaws> session_laws;  ///< of a fragment with sessions: arrivals and rate are of theirs
  bool conversations = false;  ///< sessions are conversations that the trace does not name: prompts go on from others
  std::optional<PrefixFit> prefixes;  ///< with session_laws: of first turns alone
  bool with_prefixes = false;         ///< the fragment has them: they reuse about what the trace does
  std::vector<std::string> lost;      ///< what the laws do not keep, in sentences
};

/// At least one request. `with_sessions`: the fragment has sessions, whose turns wait for each other; where the trace
/// names none, those of TrafficSample::conversations(). Throws schema::InputError where no session of the trace has a
/// second turn.
TrafficFit fit_traffic(const TrafficSample& sample, bool with_sessions = false);

/// Replaces the lengths of the fragment that are values by few (with_few_values), for people to read. Returns the
/// largest distance between a law before and after; nothing where no law has more.
std::optional<double> read_shorter(TrafficFit& fit);

/// The fit as the key `workload` of a scenario: a map with that key alone.
schema::ConfigNode workload_fragment(const TrafficFit& fit);

}  // namespace kvsim::planner::traffic
