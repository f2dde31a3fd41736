// Measured tables of a profile: fitted curves and surfaces over one shape's own rows, thinned.
#pragma once

#include "models/calibration/cross_validation.h"
#include "models/calibration/samples.h"
#include "models/kernels/profile.h"

namespace kvsim::models {

/// A table in a report: its errors against the rows it was made from.
struct TableReport {
  std::string name;
  std::size_t points = 0;
  ErrorSummary errors;
};

struct TableTolerances {
  double layer = 0.01;  ///< linear layers and sampler
  double all_reduce = 0.02;
};

/// One table per shape with at least `kTableRows` rows.
inline constexpr std::size_t kTableRows = 16;
[[nodiscard]] std::vector<LinearTable> linear_tables(const std::vector<LinearSample>& rows, const TableTolerances& t,
                                                     std::vector<TableReport>& reports);
/// One table per shape of heads: least-squares surface, bilinear in the logarithms, on at most 9 numbers of requests
/// and 9 KV lengths of those measured.
[[nodiscard]] std::vector<DecodeTable> decode_tables(const std::vector<DecodeSample>& rows,
                                                     std::vector<TableReport>& reports);
[[nodiscard]] std::vector<TimePoint> sampler_table(const std::vector<SamplerSample>& rows, const TableTolerances& t,
                                                   std::vector<TableReport>& reports);
/// One table per group size.
[[nodiscard]] std::vector<AllReduceTable> all_reduce_tables(const std::vector<AllReduceSample>& rows,
                                                            const TableTolerances& t,
                                                            std::vector<TableReport>& reports);

}  // namespace kvsim::models
