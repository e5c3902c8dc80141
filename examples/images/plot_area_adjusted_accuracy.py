"""
How large is the forest, really?
================================

Counting mapped pixels counts the errors, too. A stratified sample of checked pixels corrects the areas and
gives them intervals.

*Our own: area-adjusted accuracy (I5), the example of Olofsson et al. (2014).*
"""

from discriminant.raster import area_adjusted_accuracy
from discriminant.raster.figures import area_estimates

#: Sampled pixels: rows are the map, columns the ground; mapped pixels of each class.
classes = ["deforestation", "forest gain", "stable forest", "stable other"]
sample = [[66, 0, 5, 4], [0, 55, 8, 12], [1, 0, 153, 11], [2, 1, 9, 313]]
mapped = [200_000, 150_000, 3_200_000, 6_450_000]
found = area_adjusted_accuracy(sample, mapped, classes)
print(found)

# %%
# The map shows 200,000 pixels of deforestation; the sample says that there are more, and how sure that is.

area_estimates(found, unit="pixels").show()
