// How many replicas serve a required rate.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "models/prices/price_table.h"
#include "planner/capacity/probe.h"
#include "planner/stated_error.h"

namespace kvsim::planner::capacity {

// Money: what a fleet costs per hour and per token.

/// Cost of one hour of a fleet.
struct HourlyCost {
  /// USD/h for GPUs; none where the table has no price for them.
  std::optional<double> gpus;
  double host_memory = 0;  ///< USD/h
  double storage = 0;      ///< USD/h
  [[nodiscard]] std::optional<double> total() const {
    return gpus ? std::optional(*gpus + host_memory + storage) : std::nullopt;
  }
};

/// GPUs at their rent (parts of one where replicas that leave GPUs of a node idle share it); host memory and storage
/// (decimal GB) at the table's prices per GB and month of 730 h.
HourlyCost hourly_cost(const models::PriceTable& prices, const std::string& gpu, double gpus, double host_memory_gb,
                       double storage_gb = 0);

/// Hourly cost of so many replicas of a cluster. Where it has nodes, those that hold the replicas are paid whole: at a
/// node's price, which counts for its GPUs and host memory; else at its parts, all GPUs and what purchase_for() says of
/// its memory.
HourlyCost hourly_cost(const models::PriceTable& prices, const serving::ClusterConfig& cluster, std::int64_t replicas,
                       double host_memory_gb, double storage_gb);

/// Hourly cost of one replica of a fleet: where there are nodes, its part of a full one, idle GPUs included. Memory as
/// of purchase_of_one().
HourlyCost hourly_cost_of_one(const models::PriceTable& prices, const serving::ClusterConfig& cluster,
                              double host_memory_gb, double storage_gb);

/// USD per 1M output tokens: usd_per_hour / (tokens_per_s x 3600) x 1e6. None where no tokens come out.
std::optional<double> usd_per_million_tokens(double usd_per_hour, double tokens_per_s);

/// Beyond this many replicas no fleet is simulated whole.
inline constexpr std::int64_t kMostSimulatedReplicas = 64;

/// Replicas that are simulated in place of a fleet that is not simulated whole, at the same load per replica.
inline constexpr std::int64_t kSubsetReplicas = 16;

/// Whether the replicas of a fleet do not depend on each other: the requests of a session go to one replica, whatever
/// the load of the others, and replicas share no tier. A subset at the same load per replica then is as the whole.
[[nodiscard]] bool independent_replicas(const scenario::Scenario& scenario);

/// Replicas that are simulated for a fleet of so many: all, or kSubsetReplicas of independent ones and of more than
/// kMostSimulatedReplicas.
[[nodiscard]] std::int64_t simulated_replicas(const scenario::Scenario& scenario, std::int64_t fleet);

struct FleetOptions {
  double required_rate = 0;  ///< requests/s of all users together
  double replica_rate = 0;   ///< requests/s that one replica sustains
  /// Requests/s at which one replica fails: a fleet of independent replicas needs no simulation to fail there.
  double replica_fails_at = std::numeric_limits<double>::infinity();
  bool n_minus_1 = false;  ///< one replica may fail
};

struct Fleet {
  /// False: no fleet that can be simulated meets the objectives (`fails` is the largest, of `needed` replicas), and
  /// more replicas are no way out: it may be something that they share. Nothing else is set then.
  bool found = true;
  /// Why no simulation can tell what a fleet of this size does; empty: one can. Nothing else is set where there is a
  /// reason.
  std::string unknown;
  std::int64_t needed = 0;    ///< replicas that meet the objectives at the required rate
  std::int64_t replicas = 0;  ///< to buy: needed, or one more where one may fail
  bool n_minus_1 = false;
  std::int64_t gpus = 0;    ///< of all replicas
  std::int64_t nodes = 0;   ///< to buy, all of whose GPUs are paid for; 0: GPUs are bought alone
  double dram_gb = 0;       ///< decimal GB over all replicas (purchase_for())
  double ssd_gb = 0;        ///< the same of storage tiers with a capacity
  double tokens_per_s = 0;  ///< output tokens at the required rate
  /// By how much the traffic may grow before the objectives break, at least: replicas x rate of one / required rate -
  /// 1, where the rate of one is what it sustains alone, or as one of `needed` if that is more (a router balances);
  /// always the latter where one replica's own rate promised a smaller fleet than is needed. 0 where it is less than
  /// what the search tells apart (headroom_of()).
  double headroom = 0;
  HourlyCost cost;
  std::optional<double> usd_per_million;
  std::int64_t simulated = 0;  ///< replicas of `probe`: `needed`, or a subset of them at the same load per replica
  std::optional<Probe> probe;  ///< of the simulated replicas
  std::optional<Probe> fails;  ///< that of one replica less; none where `needed` is 1, or that was not simulated
  [[nodiscard]] bool subset() const { return simulated < needed; }
};

/// The headroom of a fleet of `bought` replicas, of which `carried` would sustain the required rate. 0 where it is
/// below `tolerance`: a search finds the rate of one within that, so that the traffic may be at the fleet's limit
/// already.
[[nodiscard]] double headroom_of(double bought, double carried, double tolerance);

/// The smallest fleet whose simulation (the scenario's router; simulated_replicas() with their part of the traffic)
/// meets the objectives, searched from ceil(required / replica rate) downwards and upwards, one by one. Where a subset
/// is simulated, the search goes upwards only, by the tolerance of rates. Fleets above kMostSimulatedReplicas are not
/// found where replicas share tiers of storage. They are unknown where the turns of a session go to several replicas
/// that store prompts each for itself: how often a prompt is found then depends on how many replicas there are.
/// `options.stage` says how long the simulations are. `prices` gives the costs.
Fleet size_fleet(const scenario::Scenario& scenario, const FleetOptions& fleet, const ProbeOptions& options,
                 const models::PriceTable& prices, int jobs = 1, const Watch& watch = {});

// The replicas that the error of the model asks for.

struct ModelMargin {
  StatedError error;
  double slower = 1;                   ///< so many times as long as predicted may a request take; at least 1
  std::int64_t replicas = 0;           ///< to buy so that they suffice even then; 0 without a fleet
  std::optional<double> usd_per_hour;  ///< of these, memory and storage in proportion; none without a price
};

/// `confidence`, in (0.5, 1), is one-sided: that requests take no longer. The rate of a replica falls as their time
/// grows, so that `slower` times as many replicas are needed as the required rate would take of the fleet's own; a
/// spare one (n_minus_1) comes on top. `fleet` may be null. `errors` as StatedErrors::built_in().
[[nodiscard]] ModelMargin model_margin(const StatedErrors& errors, const models::PriceTable& prices,
                                       const scenario::Scenario& scenario, const Fleet* fleet, double confidence);

}  // namespace kvsim::planner::capacity
