// A step's time cut into the layers it runs through, all alike: what prefetching layer by layer overlaps with.
#pragma once

namespace kvsim::models {

/// layers (before_s + attention_s + after_s) + tail_s is the step's total.
struct LayerTime {
  double layers = 1;
  double before_s = 0;     ///< of a layer, until its queries, keys and values are there
  double attention_s = 0;  ///< of a layer
  double after_s = 0;  ///< of a layer, from the end of attention: output projection, feed-forward block, all-reduces
  double tail_s = 0;   ///< once, after the last layer: LM head, sampling, launch overhead of the iteration
};

}  // namespace kvsim::models
