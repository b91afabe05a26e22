// The steps of `folio lab positions`, after the text on positional encoding.
#ifndef FOLIO_APPS_FOLIO_LAB_POSITIONS_H_
#define FOLIO_APPS_FOLIO_LAB_POSITIONS_H_

#include <cstdint>

#include "base/error.h"
#include "folio/lab.h"
#include "formats/model_file.h"
#include "model/config.h"

namespace folio {

struct PositionsModel {
  ModelFile file;
  ModelConfig config;
};

Result<LabStep> WordOrder(const PositionsModel& model, std::int64_t threads);  // Q1
LabStep PositionAsFraction();                                                  // Q2
LabStep PositionInBinary();                                                    // Q3
LabStep SinusoidalWaves();                                                     // Q4
LabStep LongestWaves(std::int64_t dim);                                        // Q5; 0 = none added
LabStep ClockHands(const PositionsModel& model);                               // Q6

}  // namespace folio

#endif  // FOLIO_APPS_FOLIO_LAB_POSITIONS_H_
