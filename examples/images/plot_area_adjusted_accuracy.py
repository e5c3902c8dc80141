"""
Area-adjusted accuracy
======================

Counts of mapped pixels are biased by classification errors. A stratified random sample of reference pixels
corrects the areas and provides confidence intervals.

*Not in the notes: area-adjusted accuracy (I5), the example of Olofsson et al. (2014).*
"""

from discriminant.raster import area_adjusted_accuracy
from discriminant.raster.figures import area_estimates

# Sampled pixels (rows: map classes, columns: reference classes), and the numbers of mapped pixels.
classes = ["deforestation", "forest gain", "stable forest", "stable other"]
sample = [[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]]
mapped = [200_000, 150_000, 3_200_000, 6_450_000]
found = area_adjusted_accuracy(sample, mapped, classes)
print(found)

# %%
# The map has 200,000 pixels of deforestation; the estimate from the sample is larger, and has a confidence interval.

area_estimates(found, unit="pixels").show()
