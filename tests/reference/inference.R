# Rscript inference.R: makes inference.json in this directory, the numbers of R that tests of inference compare with.
library(sandwich)
library(jsonlite)

tight <- list(epsilon = 1e-10)
clinics <- read.csv("clinics.csv")
clinics$clinic <- factor(clinics$clinic)
clinics$region <- factor(clinics$region)
fit <- function(formula, ...) glm(formula, binomial, clinics, control = tight, ...)
errors <- function(covariance) as.list(sqrt(diag(covariance)))

# Clinics are nested in regions: two of their marks follow from those of the regions.
nested <- fit(ill ~ x + region + clinic)
tests <- drop1(nested, test = "LRT")
aliased <- list(
  robust = errors(vcovHC(nested, "HC0")),
  model = errors(vcov(nested)),
  profile = apply(suppressMessages(confint(nested, level = 0.95)), 1, as.list),
  statistic = setNames(as.list(tests$LRT), rownames(tests)),
  df = setNames(as.list(tests$Df), rownames(tests))
)

write_json(
  list(aliased = aliased, R = R.version.string, sandwich = as.character(packageVersion("sandwich"))),
  "inference.json", auto_unbox = TRUE, digits = NA, pretty = TRUE, na = "null"
)
