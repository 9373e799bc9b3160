"""Default of Credit Card Clients: will a client miss the next payment? (Taiwan, 2005)."""

from __future__ import annotations

from dpfair.datasets.dataset import Dataset, read_frame, read_schema

SHA256 = "678501555e18a5b170c0e5b48eddec1d54149d80afbf161112620a515f53f134"


def load_credit() -> Dataset:
    """Load the 30,000 records of Default of Credit Card Clients; the groups are the sexes.

    Returns
    -------
    Dataset
        22 features and `SEX` in `X`; label 1 (22.1 % of all) means default. `EDUCATION` and
        `MARRIAGE` have their rare and undocumented codes merged into "other".

    Raises
    ------
    DataIntegrityError
        If the shipped file is not the published one.

    Notes
    -----
    Source: Yeh, I-C. (2009), Default of Credit Card Clients, UCI Machine Learning Repository
    (2016), https://doi.org/10.24432/C55S3H, licensed CC BY 4.0.

    Examples
    --------
    >>> from dpfair import load_credit
    >>> data = load_credit()
    >>> data.X.shape, data.sensitive, float(data.y.mean())
    ((30000, 23), 'SEX', 0.2212)
    """
    frame = read_frame("credit.parquet", SHA256)
    label = "default-payment-next-month"
    return Dataset(
        name="credit",
        X=frame.drop(label),
        y=frame[label].to_numpy(),
        schema=read_schema("credit.toml"),
    )
