#include "planner/prefetch/crossover.h"

#include <algorithm>
#include <cmath>

#include "models/hardware/link_spec.h"
#include "models/prefetch/prefetch_spec.h"

namespace kvsim::planner {
namespace {

constexpr std::int64_t kLeast = 8;
constexpr double kPerOctave = 2;

double row_bytes_of(const serving::ServingConfig& config) {
  return models::layer_fetch(config.decode.prefetch, config.model, config.cluster.uniform().parallel.tensor,
                             config.model.max_context)
      .row_bytes;
}

/// The configuration with another link; none where the link has no figures for rows.
std::optional<serving::ServingConfig> on_link(const serving::ServingConfig& config, const models::LinkSpec& link) {
  serving::ServingConfig moved = config;
  for (serving::GroupConfig& group : moved.cluster.groups) group.host_link = link;
  std::string& copies = moved.decode.prefetch.copies;
  const double row_bytes = row_bytes_of(config);
  if (models::find_gather(link, copies, row_bytes) == nullptr) copies = "best";
  if (models::find_gather(link, copies, row_bytes) == nullptr) return std::nullopt;
  return moved;
}

HostLink described(const serving::ServingConfig& config, const LikeRequests& requests) {
  const models::LinkSpec& link = config.cluster.uniform().host_link;
  const double row_bytes = row_bytes_of(config);
  const models::GatherMethod& method = *models::find_gather(link, config.decode.prefetch.copies, row_bytes);
  HostLink l;
  l.name = link.name;
  l.method = method.name;
  l.contiguous_bytes_per_s = link.read_bytes_per_s.value;
  l.rows_bytes_per_s = models::gathered_bytes_per_s(link, method, row_bytes);
  l.largest_hidden_k = largest_hidden_k(config, requests);
  return l;
}

}  // namespace

std::vector<std::int64_t> crossover_grid(std::int64_t context) {
  std::vector<std::int64_t> grid;
  for (int i = 0;; ++i) {
    const std::int64_t k = std::llround(static_cast<double>(kLeast) * std::exp2(i / kPerOctave));
    if (k >= context) break;
    grid.push_back(k);
  }
  grid.push_back(context);
  return grid;
}

CrossoverPoint crossover_point(serving::ServingConfig config, const LikeRequests& requests, std::int64_t k) {
  config.decode.prefetch.top_k = k;
  const StepEstimate o = estimate(config, requests);
  const auto gpus = static_cast<double>(config.cluster.uniform().parallel.tensor);
  CrossoverPoint p;
  p.k = k;
  p.computing_s = o.computing_s();
  p.bytes_per_gpu = o.fetch_bytes_per_request * static_cast<double>(requests.batch) / gpus;
  p.hidden = o.hidden();
  const double longest_ns = longest_hidden_ns(o.layers, o.pipeline, o.fetch);
  if (longest_ns > 0) {
    p.link_factor = o.fetch.flowing_ns / longest_ns;
    p.rows_bytes_per_s = p.bytes_per_gpu / static_cast<double>(o.pipeline.layers) / (longest_ns * 1e-9);
  }
  return p;
}

std::optional<std::int64_t> largest_hidden_k(serving::ServingConfig config, const LikeRequests& requests) {
  const auto hidden = [&](std::int64_t k) {
    config.decode.prefetch.top_k = k;
    return estimate(config, requests).hidden();
  };
  std::int64_t beyond = requests.context();
  if (hidden(beyond)) return beyond;
  std::int64_t within = 0;
  while (beyond - within > 1) {
    const std::int64_t middle = within + (beyond - within) / 2;
    (hidden(middle) ? within : beyond) = middle;
  }
  return within > 0 ? std::optional(within) : std::nullopt;
}

Crossover crossover(const serving::ServingConfig& config, const LikeRequests& requests,
                    const models::Catalogue& catalogue) {
  Crossover c;
  c.requests = requests;
  c.k = config.decode.prefetch.top_k;
  c.row_bytes = row_bytes_of(config);
  c.own = described(config, requests);
  c.own.own = true;
  for (const std::int64_t k : crossover_grid(requests.context())) {
    c.points.push_back(crossover_point(config, requests, k));
  }
  for (const models::Catalogue::Line& line : catalogue.list(models::EntryKind::link)) {
    const models::LinkSpec link = catalogue.link(line.name);
    if (link.kind != models::LinkKind::host || link.name == c.own.name) continue;
    if (const auto moved = on_link(config, link)) c.links.push_back(described(*moved, requests));
  }
  c.links.push_back(c.own);
  std::stable_sort(c.links.begin(), c.links.end(),
                   [](const HostLink& a, const HostLink& b) { return a.rows_bytes_per_s < b.rows_bytes_per_s; });
  return c;
}

}  // namespace kvsim::planner
