"""From scores to answers: labels, the distribution over labellings, constraints, calibration, the recall dial."""
