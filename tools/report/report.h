// A report: a page made of result documents alone, so equal results give equal reports. Its sections are each in a
// file: what it shows of which documents.
#pragma once

#include "tools/page/page.h"
#include "tools/report/documents.h"

namespace kvsim::report {

using page::Page;
using page::Section;

/// Which policy, which x and c, how many GPUs, what binds, what to buy next, how sure.
[[nodiscard]] Section decision(const Inputs& inputs);
/// Headline numbers with their intervals, a row a policy or run.
[[nodiscard]] Section headline(const Inputs& inputs);
/// Tokens/s per GPU against tokens/s per user.
[[nodiscard]] Section trade_off(const Inputs& inputs);
/// Latency and attainment against the rate of arrivals, with objectives and the knee.
[[nodiscard]] Section rates(const Inputs& inputs);
/// Throughput over draft length and keep ratio, and other sweeps.
[[nodiscard]] Section maps(const Inputs& inputs);
/// Contents of GPU memory.
[[nodiscard]] Section memory(const Inputs& inputs);
/// GPUs, links, memory and queue over the time of a run.
[[nodiscard]] Section over_time(const Inputs& inputs);
/// Distributions of latencies.
[[nodiscard]] Section distributions(const Inputs& inputs);
/// Binding resource, elasticities, how far the plan holds.
[[nodiscard]] Section binding(const Inputs& inputs);
/// Alternatives that were tried, and what they would cost.
[[nodiscard]] Section alternatives(const Inputs& inputs);
/// Fleets, costs and prices.
[[nodiscard]] Section costs(const Inputs& inputs);
/// Tables of documents that have no section of their own.
[[nodiscard]] Section further(const Inputs& inputs);
/// Assumptions, fall-backs, sources of figures.
[[nodiscard]] Section provenance(const Inputs& inputs);
/// Definitions and resolved scenarios.
[[nodiscard]] Section appendix(const Inputs& inputs);

/// All of it.
[[nodiscard]] Page make_report(const Inputs& inputs);

}  // namespace kvsim::report
